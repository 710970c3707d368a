"""`grader course-check`."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command("course-check")
@click.argument("course", type=click.Path(path_type=Path, exists=True), default=Path("notebooks"))
@click.option("--assignment", default="cube", show_default=True)
def command(course: Path, assignment: str) -> None:
    """Look for what would go wrong in COURSE, a course with nbgrader. Exit status 1: something."""
    from grader.course.check import check

    troubled = False
    for title, troubles in check(course, assignment):
        troubled |= bool(troubles)
        click.echo(f"{'TROUBLE' if troubles else 'ok':<8} {title}")
        for trouble in troubles:
            click.echo(f"         {trouble}")
    sys.exit(troubled)
