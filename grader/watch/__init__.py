"""Grading a file again on every save, with a judge that stays warm."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

from grader.service import warm_judge

_ENDINGS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


def watch(path: Path, exercise: str) -> None:
    """Grade the file at `path` at once and on every save, until q or Ctrl-C.

    Raises:
        GraderError: the environment or the grader itself is at fault.
    """
    for number in _ENDINGS:
        signal.signal(number, _end)
    with contextlib.suppress(KeyboardInterrupt), warm_judge() as judge:
        # The judge is loading torch; meanwhile comes the rest.
        from grader.watch.saves import Saves
        from grader.watch.screen import Lines, Terminal
        from grader.watch.session import Session

        with contextlib.ExitStack() as stack:
            saves = stack.enter_context(Saves(path))
            if not _has_terminal():
                Session(path, exercise, judge, Lines(), saves).run(None)
                return
            from grader.watch.keyboard import Keyboard

            keyboard = stack.enter_context(Keyboard())
            screen = stack.enter_context(contextlib.closing(Terminal()))
            Session(path, exercise, judge, screen, saves).run(keyboard)


def _has_terminal() -> bool:
    both = sys.stdin.isatty() and sys.stdout.isatty()
    return both and os.name == "posix" and os.environ.get("TERM") != "dumb"


def _end(*_: object) -> None:
    """Go by way of every `finally`, and let no second signal stop what cleans up."""
    for number in _ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
