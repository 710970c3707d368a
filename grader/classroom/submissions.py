"""Who sent what: submissions in a folder or a zip, as course systems give them out.

A folder of `<student>.py`; of `<student>/cube.py`; of `<student>/cube/cube.py` (nbgrader);
a zip of these from Canvas (`lastfirst_12345_67890_cube-1.py`), Moodle
(`First Last_12345_assignsubmission_file_/cube.py`) or Gradescope. Files of a zip are
read where they are, so no name in it can lead anywhere. No link is followed.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.service import GraderError
from grader.source import MAX_BYTES, Source

#: More entries than this are no class.
MAX_ENTRIES = 200_000

_CANVAS = re.compile(r"(?P<name>[^_/]+)_(?:LATE_)?(?P<user>\d+)_\d+_(?P<file>.+)")
_MOODLE = re.compile(r"(?P<name>[^_/]+_\d+)_assignsubmission_(?:file|onlinetext)_?")
#: A second attempt is cube-1.py for Canvas and cube (1).py for browsers.
_ATTEMPT = re.compile(r"(?P<stem>.+?)(?:-(?P<canvas>\d+)| \((?P<browser>\d+)\))?\.py")
_IGNORED = {"__MACOSX", "__pycache__", ".ipynb_checkpoints", ".git", ".DS_Store", "Thumbs.db"}


class SubmissionsError(GraderError):
    """The place can't be read as submissions at all; the text says why."""


@dataclass(frozen=True)
class Submission:
    """One student's file; `read` gives its source, also when it is missing or can't be read."""

    student: str
    name: str
    read: Callable[[], Source]


@dataclass(frozen=True)
class Found:
    """What was found: a submission for each student, and what belongs to nobody, with reasons."""

    submissions: tuple[Submission, ...]
    unassigned: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Entry:
    """A file (or an empty folder) at a relative place; `trouble` says why it can't be read."""

    place: PurePosixPath
    read: Callable[[], bytes]
    size: int = 0
    trouble: str = ""
    is_folder: bool = False
    #: Whether its name says nothing that may be believed.
    astray: bool = False

    def source(self) -> Source:
        name = str(self.place)
        if self.trouble:
            return Source(name, b"", unreadable=self.trouble)
        try:
            return Source(name, self.read(), size=self.size)
        except (
            OSError,
            EOFError,
            RuntimeError,
            ValueError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            return Source(name, b"", unreadable=f"The file can't be read: {error}.")


def find(place: Path, exercise: str) -> Found:
    """Find the submissions of `exercise` in a folder or zip.

    Raises:
        SubmissionsError: `place` is neither, or holds nothing.
    """
    try:
        entries = list(_zip(place, exercise) if zipfile.is_zipfile(place) else _folder(place))
    except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
        raise SubmissionsError(f"{place} can't be read: {error}") from None
    if not entries:
        raise SubmissionsError(f"{place} holds no submissions")
    return _assign(entries, exercise)


# From a folder or a zip to entries


def _folder(top: Path) -> Iterator[_Entry]:
    if not top.is_dir():
        raise NotADirectoryError("it is neither a folder nor a zip")
    count = 0
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in _IGNORED)
        links = [name for name in folders if Path(folder, name).is_symlink()]
        if not folders and not files and Path(folder) != top:
            yield _Entry(_relative(folder, top), bytes, is_folder=True)
        for name in sorted(links + [name for name in files if name not in _IGNORED]):
            if (count := count + 1) > MAX_ENTRIES:
                raise OSError(f"it holds more than {MAX_ENTRIES} files")
            path = Path(folder, name)
            about = path.lstat()
            trouble = "" if stat.S_ISREG(about.st_mode) else "This is a link or a device, no file."
            yield _Entry(_relative(path, top), _reader(path), about.st_size, trouble)


def _relative(path: str | Path, top: Path) -> PurePosixPath:
    return PurePosixPath(Path(path).relative_to(top).as_posix())


def _reader(path: Path) -> Callable[[], bytes]:
    def read() -> bytes:
        # What was a file a moment ago may be a link by now.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(number, "rb") as file:
            return file.read(MAX_BYTES + 1)

    return read


def _zip(path: Path, exercise: str) -> Iterator[_Entry]:
    archive = zipfile.ZipFile(path)  # it stays open for as long as its entries are read
    if len(archive.infolist()) > MAX_ENTRIES:
        raise OSError(f"it holds more than {MAX_ENTRIES} files")
    inside: list[tuple[zipfile.ZipInfo, PurePosixPath]] = []
    for info in archive.infolist():
        place = _place(info.filename)
        if place is None:
            name = PurePosixPath(info.filename.replace("/", "∕"))
            yield _Entry(name, bytes, trouble="Its name leads out of the zip.", astray=True)
        elif place.parts and not _IGNORED.intersection(place.parts):
            inside.append((info, place))
    around = _folders_around([place for _, place in inside if len(place.parts) > 1], exercise)
    parents = {parent for _, place in inside for parent in place.parents}
    for info, place in inside:
        if len(place.parts) > around and not (info.is_dir() and place in parents):
            yield _zip_entry(archive, info, PurePosixPath(*place.parts[around:]))


def _folders_around(places: list[PurePosixPath], exercise: str) -> int:
    """How many folders (1 or 0) stand around all that a zip holds, and name no student."""
    one = len({place.parts[0] for place in places}) == 1
    folders = {place.parts[1] for place in places if len(place.parts) > 2} - {exercise}
    flat = sum(len(place.parts) == 2 and place.suffix == ".py" for place in places)
    return int(one and (bool(folders) or flat > 1))


def _zip_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: PurePosixPath) -> _Entry:
    if info.is_dir():
        return _Entry(place, bytes, is_folder=True)
    kind = stat.S_IFMT(info.external_attr >> 16)
    trouble = "" if kind in (0, stat.S_IFREG) else "This is a link or a device, no file."

    def read() -> bytes:
        with archive.open(info) as file:  # unpacks as much as is asked for, whatever it claims
            return file.read(MAX_BYTES + 1)

    return _Entry(place, read, info.file_size, trouble)


def _place(name: str) -> PurePosixPath | None:
    """A name in a zip as a relative place, or None where it leads elsewhere."""
    place = PurePosixPath(name.replace("\\", "/").rstrip("/"))
    if place.is_absolute() or ".." in place.parts or re.match(r"[A-Za-z]:", name) or "\0" in name:
        return None
    return place


# From entries to students


@dataclass(frozen=True)
class _Claim:
    """An entry that may be a student's submission; the greatest `rank` is it."""

    student: str
    entry: _Entry
    rank: tuple[int, int]


def _assign(entries: list[_Entry], exercise: str) -> Found:
    claims: dict[str, list[_Claim]] = defaultdict(list)
    unassigned: list[tuple[str, str]] = []
    for entry in entries:
        claim = _claim(entry, exercise)
        if claim is None:
            unassigned.append((str(entry.place), entry.trouble or "It can't be told whose it is."))
        else:
            claims[claim.student].append(claim)
    submissions = []
    for student, theirs in claims.items():
        theirs.sort(key=lambda c: c.rank)
        best = theirs[-1]
        others = [c.entry for c in theirs[:-1] if not c.entry.is_folder]
        if best.rank[0] == _ONLY_PYTHON and sum(c.rank[0] == _ONLY_PYTHON for c in theirs) > 1:
            submissions.append(_missing(student, exercise, [c.entry for c in theirs]))
            others.append(best.entry)
        elif best.rank[0] < _ONLY_PYTHON:
            submissions.append(_missing(student, exercise, [c.entry for c in theirs]))
            others += [best.entry] if not best.entry.is_folder else []
        else:
            submissions.append(Submission(student, str(best.entry.place), best.entry.source))
        unassigned += [(str(e.place), f"Another file of {student}.") for e in others]
    submissions.sort(key=lambda s: s.student)
    return Found(tuple(submissions), tuple(sorted(unassigned)))


def _missing(student: str, exercise: str, entries: list[_Entry]) -> Submission:
    there = sorted(e.place.name for e in entries if not e.is_folder)
    also = f" There is {', '.join(there[:5])}." if there else " The folder is empty."
    words = f"No {exercise}.py was handed in.{also}"
    name = f"{exercise}.py"
    return Submission(student, name, lambda: Source(name, b"", unreadable=words))


#: How well a file fits: by its exact name, as the only Python file, not at all.
_EXACT, _ONLY_PYTHON, _OTHER = 2, 1, 0


def _claim(entry: _Entry, exercise: str) -> _Claim | None:
    if entry.astray:
        return None
    folders = list(entry.place.parts if entry.is_folder else entry.place.parts[:-1])
    if len(folders) > 1 and folders[-1] == exercise:
        folders.pop()  # nbgrader: <student>/<assignment>/<file>
    if not folders:
        return _flat_claim(entry, exercise)
    moodle = _MOODLE.fullmatch(folders[-1])
    student = moodle["name"] if moodle else "/".join(folders)
    if entry.is_folder:
        return _Claim(student, entry, (_OTHER, 0))
    return _Claim(student, entry, _rank(entry.place.name, exercise))


def _flat_claim(entry: _Entry, exercise: str) -> _Claim | None:
    """Whose a file is that lies in no folder: its name says so."""
    name = entry.place.name
    if entry.is_folder:
        return None
    if canvas := _CANVAS.fullmatch(name):
        student = f"{canvas['name']}_{canvas['user']}"
        return _Claim(student, entry, _rank(canvas["file"], exercise))
    if entry.place.suffix == ".py":
        return _Claim(entry.place.stem, entry, (_EXACT, 0))
    return None


def _rank(name: str, exercise: str) -> tuple[int, int]:
    match = _ATTEMPT.fullmatch(name)
    if not match:
        return _OTHER, 0
    attempt = int(match["canvas"] or match["browser"] or 0)
    return (_EXACT, attempt) if match["stem"] == exercise else (_ONLY_PYTHON, attempt)
