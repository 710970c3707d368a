"""Where a course's files lie, and what nbgrader wants beside a lone cube.py."""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"


@dataclass(frozen=True)
class Layout:
    """The folders of one assignment; its notebook and its file bear its name."""

    coursedir: CourseDirectory
    assignment: str

    @property
    def file(self) -> str:
        """The name of the file that students hand in."""
        return f"{self.assignment}.py"

    @property
    def notebook(self) -> str:
        """The name of the assignment's notebook."""
        return f"{self.assignment}.ipynb"

    @property
    def source(self) -> Path:
        """The instructor's version."""
        return self._folder(self.coursedir.source_directory, ".")

    @property
    def release(self) -> Path:
        """The students' version."""
        return self._folder(self.coursedir.release_directory, ".")

    def submitted(self, student: str) -> Path:
        """What a student handed in."""
        return self._folder(self.coursedir.submitted_directory, student)

    def autograded(self, student: str) -> Path:
        """The graded copy of what a student handed in."""
        return self._folder(self.coursedir.autograded_directory, student)

    def students(self) -> Iterator[str]:
        """Everyone of whom there is a folder with this assignment."""
        step = self.coursedir.submitted_directory
        name = self.coursedir.format_path(step, "(?P<student>.*)", self.assignment, escape=True)
        for folder in sorted(glob.glob(str(self.submitted("*")))):  # noqa: PTH207 - absolute
            if (match := re.fullmatch(name, folder)) and Path(folder).is_dir():
                yield match["student"]

    def _folder(self, step: str, student: str) -> Path:
        return Path(self.coursedir.format_path(step, student, self.assignment))


def prepare(layout: Layout, student: str) -> list[str]:
    """Lay beside a student's file what nbgrader wants, and forget what is out of date.

    Returns the names of the files that were laid. Without a notebook nbgrader
    would skip the submission, without the other two it could not release feedback.
    """
    folder = layout.submitted(student)
    laid = lay(layout, folder)
    forget_outdated(layout, student, folder)
    return laid


def lay(layout: Layout, folder: Path) -> list[str]:
    """Lay the release notebook, the time and a secret into a folder that lacks them."""
    for link in links(folder):
        link.unlink()
    file = folder / layout.file
    moment = datetime.fromtimestamp((file if file.exists() else folder).stat().st_mtime, UTC)
    contents = {
        layout.notebook: (layout.release / layout.notebook).read_bytes(),
        TIMESTAMP: f"{moment:%Y-%m-%d %H:%M:%S.%f} UTC".encode(),
        SECRET: secrets.token_hex(64).encode(),
    }
    laid = []
    for name, content in contents.items():
        path = folder / name
        if path.is_file() and (name != TIMESTAMP or _is_time(path)):
            continue
        if path.is_dir():
            shutil.rmtree(path)
        path.write_bytes(content)
        laid.append(name)
    return laid


def forget_outdated(layout: Layout, student: str, folder: Path) -> None:
    """Remove the graded copy of another version of the file that lies in `folder`.

    nbgrader goes by the time of submission alone, and would keep it.
    """
    graded = layout.autograded(student)
    if graded.exists() and _bytes(graded / layout.file) != _bytes(folder / layout.file):
        shutil.rmtree(graded)


def links(folder: Path) -> list[Path]:
    """All links below `folder`: whoever follows them reads what the student could not."""
    found = []
    for place, folders, files in os.walk(folder):
        found += [path for name in folders + files if (path := Path(place, name)).is_symlink()]
    return found


def _is_time(path: Path) -> bool:
    try:
        parse_utc(path.read_text(encoding="utf-8").strip())
    except (ValueError, OverflowError):
        return False
    return True


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
