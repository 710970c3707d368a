"""A terminal driven by a program: keys go in, a screen comes out."""

from __future__ import annotations

import os
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import psutil
import pyte

ROOT = Path(__file__).resolve().parents[1]


class Terminal:
    """`python -m grader ...` in a terminal of its own."""

    def __init__(self, *arguments: str, cwd: Path, rows: int = 60, columns: int = 100) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
        scratch = cwd / "tmp"
        scratch.mkdir(exist_ok=True)
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "grader", *arguments],
            cwd=str(cwd),
            dimensions=(rows, columns),
            env={
                **kept,
                "TERM": "xterm-256color",
                "PYTHONUTF8": "1",
                "PYTHONPATH": str(ROOT),
                "TMPDIR": str(scratch),
            },
        )

    @property
    def text(self) -> str:
        """What the screen shows now."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    def press(self, keys: str) -> None:
        r"""Press keys; "\x03" is Ctrl-C."""
        self.child.send(keys)

    def until(self, sight: str | Callable[[str], bool], seconds: float = 20) -> str:
        """Read until the screen shows this; returns the screen."""
        seen = sight if callable(sight) else lambda text: sight in text
        deadline = time.monotonic() + seconds
        while not seen(self.text):
            assert time.monotonic() < deadline, f"not seen: {sight}\n{self.text}"
            self._read()
        return self.text

    def ended(self, seconds: float = 3) -> int:
        """Wait for the program's end; returns its exit status."""
        deadline = time.monotonic() + seconds
        while self.child.isalive():
            assert time.monotonic() < deadline, f"still running\n{self.text}"
            self._read()
        self._read()
        assert self.child.exitstatus is not None, f"ended by signal {self.child.signalstatus}"
        return self.child.exitstatus

    def family(self) -> list[psutil.Process]:
        """The program and all that it has started."""
        program = psutil.Process(self.child.pid)
        return [program, *program.children(recursive=True)]

    def echoes(self) -> bool:
        """Whether the terminal is in its usual mode: echo, and lines that end with Enter."""
        flags = termios.tcgetattr(self.child.child_fd)[3]
        return bool(flags & termios.ECHO and flags & termios.ICANON)

    def close(self) -> None:
        """End what is left."""
        self.child.close(force=True)

    def _read(self) -> None:
        try:
            data = self.child.read_nonblocking(1 << 16, timeout=0.05)
        except (pexpect.TIMEOUT, pexpect.EOF):
            time.sleep(0.005)
            return
        self.raw += data
        self._stream.feed(data)
