"""The difference of two files, line by line, for a terminal."""

from __future__ import annotations

import difflib

from grader.render.text import quote

_COLORS = {"+": "\x1b[32m", "-": "\x1b[31m"}


def render(
    old: list[str], new: list[str], names: tuple[str, str], *, color: bool, encoding: str
) -> str:
    """Return a unified diff of two files' lines; "" when they are the same."""
    lines = []
    for line in difflib.unified_diff(old, new, *names, lineterm=""):
        text = quote(line, encoding)
        paint = _COLORS.get(line[:1], "") if color else ""
        lines.append(f"{paint}{text}\x1b[0m" if paint else text)
    return "".join(f"{line}\n" for line in lines)
