"""`grader solution`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from grader import handout, memory
from grader.cli import fail
from grader.commands.common import graded, submission
from grader.render import solution as render
from grader.render.stream import has_color
from grader.service import read_source


@click.command("solution")
@submission
@click.option("--give-up", is_flag=True, help="Show it without a pass, when asked a second time.")
def command(path: Path, exercise: str, *, give_up: bool) -> None:
    """Show the solution and the difference from FILE, once FILE passes.

    FILE is starter/cube.py by default.
    """
    solution = handout.solution(exercise)
    if solution is None:
        fail(f"there is no solution/{exercise}.py here; run this in the folder of the kit")
    if give_up:
        if not memory.asked_before(path):
            click.echo("One more try? `grader hint` helps. Ask again with --give-up to see it.")
            sys.exit(1)
    elif graded(path, exercise).verdict != "pass":
        click.echo("The solution is shown once the file passes; `grader hint` helps on the way.")
        sys.exit(1)
    color, encoding = has_color(sys.stdout), sys.stdout.encoding
    sys.stdout.write(render.render(read_source(path), solution, color=color, encoding=encoding))
