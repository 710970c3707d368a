"""`grader course-prepare`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("course-prepare")
@click.argument("course", type=click.Path(path_type=Path, exists=True), default=Path("notebooks"))
@click.option("--assignment", default="cube", show_default=True)
def command(course: Path, assignment: str) -> None:
    """Lay beside each submission in COURSE what nbgrader wants, if only a file was handed in."""
    from grader.course.check import coursedir
    from grader.course.layout import Layout, prepare

    layout = Layout(coursedir(course), assignment)
    for student in layout.students():
        if laid := prepare(layout, student):
            click.echo(f"{student}: added {', '.join(laid)}")
