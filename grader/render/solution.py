"""The solution as text, with the difference from a student's file."""

from __future__ import annotations

from grader.render import diff
from grader.render.text import quote
from grader.source import Source


def render(yours: Source, solution: Source, *, color: bool, encoding: str) -> str:
    """Return the solution in full, and what would turn the student's file into it."""
    names = quote(yours.name, encoding), solution.name
    changes = diff.render(yours.lines, solution.lines, names, color=color, encoding=encoding)
    code = "".join(f"  {quote(line, encoding)}".rstrip() + "\n" for line in solution.lines)
    return f"The solution, {solution.name}:\n\n{code.rstrip()}\n\n" + (
        f"From your file to it:\n\n{changes}" if changes else "Your file is the same.\n"
    )
