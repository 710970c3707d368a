"""The loop: wait for a save, a key or a report, and act on it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from grader import handout, hints, memory
from grader.records import Report
from grader.render import diff, hint, terminal
from grader.render.solution import render as render_solution
from grader.render.text import quote
from grader.service import JudgeProcess, read_source
from grader.source import Source
from grader.watch.keyboard import Keyboard
from grader.watch.saves import Saves, stamp
from grader.watch.screen import Screen

#: How often the file is looked at where no event comes, in seconds.
_GLANCE = 0.5
_SPINNER_TURN = 0.1
#: A check that takes longer than this shows that it is working, and gives way to a newer save.
_PATIENCE = 1.0


class Session:
    """One file being watched, from the first check to the key q."""

    def __init__(
        self, path: Path, exercise: str, judge: JudgeProcess, screen: Screen, saves: Saves
    ) -> None:
        self.path, self.exercise = path, exercise
        self.judge, self.screen, self.saves = judge, screen, saves
        self._report: Report | None = None
        self._source: Source | None = None
        self._text = self._changes = self._checked = ""
        self._stamp = stamp(path)
        self._started: float | None = None
        self._keys: dict[str, Callable[[], None]] = {
            "h": self._hint,
            "d": lambda: self._show(self._changes or "Nothing changed since the last run.\n"),
            "s": self._solution,
            "r": self._again,
        }

    def run(self, keyboard: Keyboard | None) -> None:
        """Check at once and on every save, until q is pressed or Ctrl-C comes.

        Raises:
            GraderError: the environment or the grader itself is at fault.
        """
        self._check()
        while True:
            busy = self._started is not None
            # Each is waited for as it is: Windows can't wait for its number.
            sources: list[Any] = [self.saves]
            if keyboard:
                sources.append(keyboard)
            if busy:
                sources.append(self.judge)
            ready: list[Any] = wait(sources, _SPINNER_TURN if busy else _GLANCE)
            if self.saves in ready:
                self.saves.take()
            if busy and self.judge in ready:
                self._collect(self.judge.collect())
            if keyboard and keyboard in ready:
                for key in keyboard.read():
                    if key == "q":
                        return
                    self._keys.get(key, lambda: None)()
            self._look(idle=not ready)

    @property
    def _name(self) -> str:
        return quote(str(self.path), self.screen.encoding)

    # ------------------------------------------------------------ checking

    def _look(self, *, idle: bool) -> None:
        """See whether the file is another one now, and how long the check takes."""
        seen = stamp(self.path)
        took = self._took
        if seen is None:
            if idle and self._stamp is not None and took is None:
                self._stamp = None
                self._text = f"{self._name} is gone. Waiting for it to come back.\n"
                self._show()
        elif seen != self._stamp and (took is None or took > _PATIENCE):
            self._check()
        elif took is not None and took > _SPINNER_TURN:
            self.screen.working(f"checking {self._name} (q: quit)", took)

    def _check(self) -> None:
        """Hand the file in; a check that is still under way is given up."""
        if self._started is not None:
            self.judge.close()
        self._stamp = stamp(self.path)
        previous, self._source = self._source, read_source(self.path)
        if previous:
            names = "last run", "this run"
            self._changes = self._diff(previous.lines, self._source.lines, names)
        self._started = time.monotonic()
        self.judge.submit(self._source, self.exercise)

    def _again(self) -> None:
        if self._took is None or self._took > _PATIENCE:
            self._check()

    @property
    def _took(self) -> float | None:
        """Seconds that the check under way has taken, or None."""
        return None if self._started is None else time.monotonic() - self._started

    def _collect(self, report: Report) -> None:
        previous, self._report = self._report, report
        self._started = None
        self._checked = time.strftime("%H:%M:%S")
        screen = self.screen
        text = terminal.render(
            report, width=screen.width, color=screen.color, encoding=screen.encoding, verbose=False
        )
        summary = f"{self._checked}  {report.verdict.upper()}  {progress(previous, report)}"
        self._text = f"{text}\n{summary}\n"
        self._show()

    # ------------------------------------------------------------ showing

    def _show(self, note: str = "") -> None:
        self.screen.show(f"{self._text}\n{note}" if note else self._text, self._footer())

    def _footer(self) -> str:
        passed = self._report is not None and self._report.verdict == "pass"
        keys = ["h hint", "d changes", *(["s solution"] if passed else []), "r run again", "q quit"]
        rest = f"  {self._checked}  {'  '.join(keys)}"
        room = self.screen.width - 1 - len(rest)
        name = self._name if len(self._name) <= room else "..." + self._name[3 - room :]
        return name + rest

    def _hint(self) -> None:
        if self._report:
            seen = memory.recall(self.path)
            rung = hints.climb(self._report, seen)
            with contextlib.suppress(OSError):  # then this hint comes again
                memory.remember(self.path, seen)
            self._show(hint.render(rung, encoding=self.screen.encoding, width=self.screen.width))

    def _solution(self) -> None:
        if self._report is None or self._source is None:
            return
        solution = handout.solution(self.exercise)
        if self._report.verdict == "fail":
            self._show("The solution is shown once the file passes.\n")
        elif solution is None:
            self._show("This kit comes without the solution.\n")
        else:
            color, encoding = self.screen.color, self.screen.encoding
            self._show(render_solution(self._source, solution, color=color, encoding=encoding))

    def _diff(self, old: list[str], new: list[str], names: tuple[str, str]) -> str:
        screen = self.screen
        return diff.render(old, new, names, color=screen.color, encoding=screen.encoding)


def progress(previous: Report | None, now: Report) -> str:
    """How many checks pass, against the last run."""
    passed = _passed(now)
    words = f"{passed} of {len(now.checks)} checks"
    if previous is None:
        return words
    before = _passed(previous)
    if passed == before:
        return f"{words}, as before"
    return f"{words}, {'up' if passed > before else 'down'} from {before}"


def _passed(report: Report) -> int:
    return sum(check.status == "pass" for check in report.checks)
