"""What a stream can show."""

from __future__ import annotations

import os
import shutil
from typing import TextIO


def has_color(stream: TextIO) -> bool:
    """Whether colour is welcome: on a terminal that isn't dumb, unless NO_COLOR says no."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def columns(stream: TextIO) -> int:
    """The columns of a terminal; 0 for a pipe or a file."""
    return shutil.get_terminal_size().columns if stream.isatty() else 0
