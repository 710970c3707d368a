"""`grader hint`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from grader import hints, memory
from grader.cli import fail
from grader.commands.common import graded, submission
from grader.render import hint


@click.command("hint")
@submission
@click.option("--again", "step", flag_value="again", help="Repeat the last hint.")
@click.option("--reset", "step", flag_value="first", help="Start with the first hint again.")
def command(path: Path, exercise: str, step: hints.Step | None) -> None:
    """Give the next hint on what is wrong in FILE (default: starter/cube.py).

    Hints go from a question to the shape of the answer, never to the answer
    itself. When the mistake changes they start again.
    """
    seen = memory.recall(path)
    rung = hints.climb(graded(path, exercise), seen, step or "next")
    sys.stdout.write(hint.render(rung, encoding=sys.stdout.encoding))
    try:
        if rung:
            memory.remember(path, seen)
    except OSError as error:
        fail(f"{memory.STATE} can't be written, so this hint will come again: {error.strerror}")
