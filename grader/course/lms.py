"""Collecting from Canvas and Moodle: what they let a teacher download, sorted by student."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import unicodedata
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin

from grader.course.layout import Layout, forget_outdated, lay

#: No file that a student hands in is larger; of a larger one, the beginning will do.
_MAX_FILE = 16 << 20

#: How the platforms name what one student handed in.
_NAMES = (
    # Moodle: Jane Doe_12345_assignsubmission_file_/cube.py, or all of it in one name
    re.compile(
        r"(?:^|/)(?P<name>[^/]+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?:/.*/|/)?(?P<file>[^/]*)$"
    ),
    # Canvas: doejane_12345_67890_cube.py, doejane_LATE_12345_67890_cube-1.py
    re.compile(r"(?:^|/)(?P<name>[^_/]+)_(?:LATE_)?(?P<id>\d+)_\d+_(?P<file>[^/]+)$"),
)


class LmsExtractor(ExtractorPlugin):
    """Sorts a download by student, and completes each submission.

    A student is called by name and number, as the download says: doejane_12345.
    """

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Read all archives and files below `archive_path`; write a folder for each student."""
        layout = Layout(self.parent.coursedir, self.parent.coursedir.assignment_id)
        handed_in: dict[str, list[_File]] = defaultdict(list)
        for file in _downloaded(Path(archive_path)):
            student, holds = _owned(file)
            if student:
                handed_in[student] += holds
            else:
                self.log.warning("Skipped, since its name doesn't say whose it is: %s", file.path)
        for student, files in handed_in.items():
            folder = Path(extracted_path) / student
            folder.mkdir(parents=True)
            for name in (layout.file, layout.notebook):
                if chosen := _choose(files, name):
                    (folder / name).write_bytes(chosen.data)
                    os.utime(folder / name, (chosen.time, chosen.time))
            if not (folder / layout.file).exists():
                names = ", ".join(sorted(file.path for file in files))
                self.log.warning("%s handed in no %s, but: %s", student, layout.file, names)
            lay(layout, folder)
            forget_outdated(layout, student, folder)


class LmsCollector(FileNameCollectorPlugin):
    """Takes the files as `LmsExtractor` has sorted them."""

    def collect(self, submitted_file: str) -> dict[str, str]:
        """Say whose file it is."""
        path = Path(submitted_file)
        return {"student_id": path.parent.name, "file_id": path.name}


@dataclass(frozen=True)
class _File:
    """A file in a download: its path there, its bytes, when it was last changed."""

    path: str
    data: bytes
    time: float


def _downloaded(folder: Path) -> Iterator[_File]:
    """All files of a download, whether its archives were unpacked by hand or not."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            name = path.relative_to(folder).as_posix()
            if path.suffix == ".zip" and not any(p.search(name) for p in _NAMES):
                yield from _members(path)
            else:
                yield _File(name, _head(path.open("rb")), path.stat().st_mtime)


def _owned(file: _File) -> tuple[str, list[_File]]:
    """The student whose file this is ("" for nobody), and what it holds."""
    for pattern in _NAMES:
        if match := pattern.search(file.path):
            name = unicodedata.normalize("NFC", f"{match['name']}_{match['id']}")
            student = re.sub(r"[^\w.-]+", "_", name).lstrip("._-")
            renamed = dataclasses.replace(file, path=match["file"])
            return student, _members(io.BytesIO(file.data)) or [renamed]
    return "", []


def _members(archive: Path | IO[bytes]) -> list[_File]:
    """The files in an archive; none where it is none, or a broken one."""
    found = []
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                if not member.is_dir() and "__MACOSX" not in member.filename:
                    moment = datetime(*member.date_time).timestamp()  # noqa: DTZ001 - in local time
                    found.append(_File(member.filename, _head(opened.open(member)), moment))
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError):
        return []  # RuntimeError: it wants a password, or a method of compression that is unknown
    return found


def _head(stream: IO[bytes]) -> bytes:
    """As much of a file as anything looks at."""
    with stream:
        return stream.read(_MAX_FILE)


def _choose(files: list[_File], name: str) -> _File | None:
    """The file of this name, or its last copy (`cube-1.py`, `cube (2).py`), or the only .py."""
    wanted = Path(name)
    copy = re.compile(rf"{re.escape(wanted.stem)}[-_ ]*\(?(\d*)\)?")
    alike = [file for file in files if Path(file.path).suffix == wanted.suffix]
    copies = [
        (int(match[1] or 0), file.time, index)
        for index, file in enumerate(alike)
        if (match := copy.fullmatch(Path(file.path).stem))
    ]
    if copies:
        return alike[max(copies)[2]]
    return alike[0] if len(alike) == 1 else None
