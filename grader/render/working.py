"""A sign of life on stderr while something takes its time; only on a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def working(words: str) -> Iterator[None]:
    """Show a spinner with these words until the block ends, then wipe it away."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True, markup=False, emoji=False).status(words, spinner="line"):
        yield
