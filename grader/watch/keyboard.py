"""Single keys from a terminal, which is left as it was found."""

from __future__ import annotations

import os
import re
import signal
import sys
from types import TracebackType
from typing import Self

if sys.platform != "win32":
    import termios
    import tty

_END = "\x04"
#: What arrows and function keys send.
_ESCAPES = re.compile(r"\x1b(\[[0-9;]*[A-Za-z~]|O[A-Z])?")


class Keyboard:
    """Keys without Enter and without echo; readable (see `fileno`) when one was pressed."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()

    def __enter__(self) -> Self:
        if sys.platform != "win32":  # there nobody asks for keys
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd, termios.TCSANOW)
            # After Ctrl-Z and `fg` the terminal has the shell's settings.
            self._on_resume = signal.signal(
                signal.SIGCONT, lambda *_: tty.setcbreak(self._fd, termios.TCSANOW)
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if sys.platform != "win32":
            signal.signal(signal.SIGCONT, self._on_resume)
            termios.tcsetattr(self._fd, termios.TCSANOW, self._before)

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._fd

    def read(self) -> str:
        """Return the keys that were pressed; "q" when the terminal is gone."""
        keys = os.read(self._fd, 64).decode(errors="ignore")
        if not keys or _END in keys:
            return "q"
        return _ESCAPES.sub("", keys).lower()
