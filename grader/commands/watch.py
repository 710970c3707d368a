"""`grader watch`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli import fail
from grader.commands.common import need, submission
from grader.service import GraderError
from grader.watch import watch


@click.command("watch")
@submission
def command(path: Path, exercise: str) -> None:
    """Grade FILE (default: starter/cube.py) now and on every save.

    On a terminal each report replaces the last, and single keys act: h gives a
    hint, d shows what changed since the last run, s shows the solution (after
    passing), r runs again, q quits. Elsewhere reports follow one another.
    """
    need("watchfiles")
    if not path.is_file():
        fail(f"there is no file {path} to watch")
    try:
        watch(path, exercise)
    except GraderError as error:
        fail(str(error))
