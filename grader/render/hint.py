"""A hint as text."""

from __future__ import annotations

import textwrap

from grader.hints import Hint
from grader.render.text import spell


def render(hint: Hint | None, *, encoding: str, width: int = 80) -> str:
    """Return the hint with its place on the ladder, or that none is needed."""
    if hint is None:
        return "The file passes: there is nothing to hint at.\n"
    head = f"Hint {hint.number} of {hint.count}: {hint.title}"
    body = textwrap.wrap(hint.text, width - 2)
    lines = [head, *(f"  {line}" for line in body)]
    return "".join(f"{line}\n" for text in lines for line in spell(text, encoding))
