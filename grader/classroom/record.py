"""What a run has done so far, on disk: `run.json` and `results.jsonl`.

Each report is written with one call as soon as it is there, so a run that was
ended in any way loses at most the line it was writing. The seed of the class is
drawn once and kept; each student's seed follows from it, so that a resumed run
asks what an undisturbed one would have asked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from grader.records import SCHEMA, Report
from grader.render.json import plain
from grader.service import GraderError
from grader.source import Source


class RecordError(GraderError):
    """The folder can't be used as it is; the text says what to do."""


@dataclass
class Record:
    """The results in one folder, open for more; `places` says where in the file each is."""

    folder: Path
    exercise: str
    seed: int
    places: dict[str, tuple[int, str]] = field(default_factory=dict)
    _out: BinaryIO = field(init=False, repr=False)

    @property
    def file(self) -> Path:
        """Where the results are."""
        return self.folder / "results.jsonl"

    @classmethod
    def open(cls, folder: Path, exercise: str, seed: int | None, *, resume: bool) -> Record:
        """Begin in an empty folder, or go on where a run has stopped.

        Raises:
            RecordError: there are results already, or of something else.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            about = _read_about(folder / "run.json")
            if about and not resume:
                raise RecordError(f"{folder} holds results: add --resume, or name another folder")
            if about and (about["exercise"] != exercise or seed not in (None, about["seed"])):
                raise RecordError(f"{folder} holds results of another exercise or seed")
            if about:
                seed = about["seed"]
            else:
                seed = secrets.randbits(63) if seed is None else seed
                text = json.dumps({"schema": SCHEMA, "exercise": exercise, "seed": seed}) + "\n"
                write(folder / "run.json", text)
            record = cls(folder, exercise, seed)
            record._read()
            record._out = record.file.open("ab", buffering=0)
        except OSError as error:
            raise RecordError(f"{folder} can't be written: {error.strerror}") from None
        return record

    def seed_of(self, student: str) -> int:
        """The seed of one student's run; it can't be told from the others'."""
        digest = hashlib.sha256(f"{self.seed}/{student}".encode()).digest()
        return int.from_bytes(digest[:4], "big")

    def has(self, student: str, source: Source) -> bool:
        """Whether this very file of this student is graded."""
        return self.places.get(student, (0, ""))[1] == fingerprint(source)

    def add(self, student: str, source: Source, report: Report) -> None:
        """Write one report down."""
        print_ = fingerprint(source)
        line = json.dumps({"student": student, "sha256": print_, **plain(report.to_dict())})
        place = self._out.seek(0, os.SEEK_END)
        self._out.write(line.encode() + b"\n")
        self.places[student] = place, print_

    def report(self, student: str) -> Report:
        """Read one report back."""
        with self.file.open("rb") as file:
            file.seek(self.places[student][0])
            line = json.loads(file.readline())
        return Report.from_dict({k: v for k, v in line.items() if k not in ("student", "sha256")})

    def finish(self, students: list[str]) -> None:
        """Put the results into the order of `students`, and leave out all others."""
        self._out.close()
        new = self.file.with_suffix(".part")
        with self.file.open("rb") as old, new.open("wb") as sorted_:
            for student in students:
                place, digest = self.places[student]
                old.seek(place)
                self.places[student] = sorted_.tell(), digest
                sorted_.write(old.readline())
        new.replace(self.file)

    def _read(self) -> None:
        """Note what is there; what is torn or no result is cut off or passed over."""
        if not self.file.exists():
            return
        with self.file.open("r+b") as file:
            place = 0
            for line in file:
                if not line.endswith(b"\n"):
                    file.truncate(place)
                    return
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    result = json.loads(line)
                    self.places[result["student"]] = place, result["sha256"]
                place += len(line)


def fingerprint(source: Source) -> str:
    """What tells one submission from another: its bytes, or why there are none."""
    return hashlib.sha256(source.data + source.unreadable.encode()).hexdigest()


def write(path: Path, text: str) -> None:
    """Write a whole file or none."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", errors="backslashreplace")
    part.replace(path)


def _read_about(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(FileNotFoundError, ValueError):
        about = json.loads(path.read_text(encoding="utf-8"))
        return about if isinstance(about, dict) and {"exercise", "seed"} <= about.keys() else None
    return None
