"""What an exercise hands out: its untouched starter, and its solution."""

from __future__ import annotations

import shutil
from datetime import datetime
from importlib import resources
from pathlib import Path

from grader.source import Source


def starter(exercise: str) -> bytes | None:
    """Return the untouched starter, from a copy that is safe from edits; None without one."""
    copy = resources.files("grader") / "data" / f"{exercise}.starter"
    return copy.read_bytes() if copy.is_file() else None


def solution(exercise: str) -> Source | None:
    """Return the solution, or None where the kit comes without it."""
    path = Path("solution") / f"{exercise}.py"
    return Source(str(path), path.read_bytes()) if path.is_file() else None


def put_back(path: Path, original: bytes, now: datetime) -> Path | None:
    """Write the starter to `path`, after keeping the present file under a dated name.

    Returns:
        The dated name, or None when there was no file.

    Raises:
        OSError: a file can't be written; the present one is not lost.
    """
    kept = None
    if path.exists():
        kept = _free(path.with_stem(f"{path.stem}-{now:%Y-%m-%d-%H%M%S}"))
        shutil.copy2(path, kept)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(original)
    return kept


def _free(path: Path) -> Path:
    """Return this name, or one with a number, that no file has yet."""
    name, number = path, 1
    while name.exists():
        number += 1
        name = path.with_stem(f"{path.stem}-{number}")
    return name
