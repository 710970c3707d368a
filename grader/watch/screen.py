"""Where reports appear: on a terminal each replaces the last, elsewhere they follow."""

from __future__ import annotations

import sys
from typing import Protocol

from grader.render.stream import columns, has_color

_CLEAR = "\x1b[H\x1b[2J"
_WIPE_LINE = "\r\x1b[K"
_REVERSE, _PLAIN = "\x1b[7m", "\x1b[0m"
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_SPINNER = "|/-\\"


class Screen(Protocol):
    """What a watch writes to."""

    color: bool
    encoding: str

    @property
    def width(self) -> int:
        """The columns that text may fill."""

    def show(self, text: str, footer: str) -> None:
        """Show a text and, where keys can be pressed, the footer below."""

    def working(self, words: str, seconds: float) -> None:
        """Show that something takes its time."""

    def close(self) -> None:
        """Leave the terminal as it was found."""


class Terminal:
    """A terminal that shows one report at a time above one footer line."""

    def __init__(self) -> None:
        self.color = has_color(sys.stdout)
        self.encoding = sys.stdout.encoding
        _write(_HIDE_CURSOR)

    @property
    def width(self) -> int:
        """80 columns, or fewer on a narrow terminal."""
        return min(80, columns(sys.stdout))

    def show(self, text: str, footer: str) -> None:
        """Replace what is shown."""
        _write(f"{_CLEAR}{text}\n{self._line(footer)}")

    def working(self, words: str, seconds: float) -> None:
        """Let a spinner turn in place of the footer."""
        turn = _SPINNER[int(seconds * 10) % len(_SPINNER)]
        _write(_WIPE_LINE + self._line(f"{turn} {words} ... {seconds:.0f} s"))

    def close(self) -> None:
        """Wipe the footer away and show the cursor again."""
        _write(_WIPE_LINE + _SHOW_CURSOR)

    def _line(self, text: str) -> str:
        # In the last column a terminal may wrap.
        return f"{_REVERSE}{text[: self.width - 1]}{_PLAIN}"


class Lines:
    """A pipe or a file: one report after another, nothing else."""

    color = False
    width = 80

    def __init__(self) -> None:
        self.encoding = sys.stdout.encoding

    def show(self, text: str, footer: str) -> None:
        """Write the text; there are no keys for a footer to name."""
        _write(f"{text}\n")

    def working(self, words: str, seconds: float) -> None:
        """Keep silent."""

    def close(self) -> None:
        """Leave nothing."""


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
