"""`grader reset`."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import click

from grader import handout, memory
from grader.cli import fail
from grader.commands.common import submission


@click.command("reset")
@submission
@click.option("--force", is_flag=True, help="Don't ask first.")
def command(path: Path, exercise: str, *, force: bool) -> None:
    """Put the starter back at FILE (default: starter/cube.py).

    The present file is kept under a dated name beside it.
    """
    starter = handout.starter(exercise)
    if starter is None:
        fail(f"the exercise {exercise} has no starter")
    try:
        if path.exists() and path.read_bytes() == starter:
            click.echo(f"{path} is the starter already.")
            return
        if path.exists() and not force:
            if not sys.stdin.isatty():
                fail("nobody is here to ask; --force (make: FORCE=1) puts the starter back unasked")
            if not click.confirm(f"Put the starter back at {path}? Your file is kept"):
                click.echo("Nothing was changed.")
                return
        kept = handout.put_back(path, starter, datetime.now().astimezone())
        memory.remember(path, memory.Memory())
    except OSError as error:
        fail(f"{error.filename} can't be read or written: {error.strerror}")
    click.echo(f"{path} is the starter again." + (f" Your file is {kept}." if kept else ""))
