"""Whether this machine is fit: what is there, what is missing, how to mend it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from grader import handout
from grader.records import Report
from grader.service import GraderError, warm_judge
from grader.source import Source

#: What grading can't do without (pyproject.toml says which versions), and what it is good without.
NEEDED = ("torch", "numpy", "safetensors", "click", "rich", "psutil", "junitparser")
LOOP = ("watchfiles", "plotext", "matplotlib")

_INSTALL = "Run: make setup (or: python -m pip install -e .)"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; "note" is missing, but nothing needs it to grade."""

    state: Literal["ok", "note", "MISSING"]
    what: str
    words: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Look at Python, the packages, a trial run with its isolation, and the extras."""
    yield _python()
    missing = _missing(NEEDED)
    for name in ("torch", "numpy"):
        if name not in missing:
            yield Finding("ok", name, importlib.metadata.version(name))
    if missing:
        yield Finding("MISSING", "packages", ", ".join(missing), _INSTALL)
    else:
        yield from _trial()
    yield _bubblewrap()
    without = _missing(LOOP)
    if without:
        remedy = "Run: make watch (or: python -m pip install -e '.[loop]')"
        yield Finding("note", "watch and plot", f"{', '.join(without)} not installed", remedy)
    else:
        yield Finding("ok", "watch and plot", "installed")


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < (3, 11):  # noqa: UP036 - a checkout runs with any Python
        return Finding("MISSING", "Python", f"{version} is too old", "Install 3.11 or newer.")
    return Finding("ok", "Python", f"{version}, {sys.executable}")


def _missing(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name) is None]


def _trial() -> Iterator[Finding]:
    """Grade the starter, which shows what works and which layers of isolation exist."""
    starter = handout.starter("cube") or b""
    try:
        with warm_judge() as judge:
            report = judge.grade(Source("starter", starter), "cube")
    except GraderError as error:
        yield Finding("MISSING", "a trial run", str(error), f"Is torch whole? {_INSTALL}")
        return
    if report.checks[0].status != "pass":
        yield Finding("MISSING", "a trial run", report.checks[0].message, _INSTALL)
        return
    yield Finding("ok", "a trial run", f"the starter was graded in {report.seconds:.1f} s")
    yield from _isolation(report)


def _isolation(report: Report) -> Iterator[Finding]:
    on = [layer.name for layer in report.isolation if layer.on]
    yield Finding("ok", "isolation", ", ".join(on))
    for layer in report.isolation:
        if not layer.on:
            yield Finding("note", "isolation", f"without {layer.name}: {layer.why}")


def _bubblewrap() -> Finding:
    if path := shutil.which("bwrap"):
        return Finding("ok", "bubblewrap", path)
    remedy = "Debian, Ubuntu: sudo apt install bubblewrap"
    return Finding("note", "bubblewrap", "not found; only a class of files needs it", remedy)
