"""`grader course-new`."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from grader.cli import fail

_NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

_CONFIG = '''"""This course: the kit's configuration, and below it what is different here."""

c = get_config()
load_subconfig({kit!r})

c.CourseDirectory.root = {root!r}
c.CourseDirectory.course_id = {course_id!r}
c.Exchange.root = {exchange!r}
'''


@click.command("course-new")
@click.argument("course", type=click.Path(path_type=Path))
@click.option("--exchange", type=click.Path(path_type=Path), help="[default: COURSE/exchange]")
def command(course: Path, exchange: Path | None) -> None:
    """Make COURSE the root of a course with nbgrader; what is there already stays."""
    course = course.resolve()
    config = course / "nbgrader_config.py"
    if config.exists():
        return
    if not _NOTEBOOKS.is_dir():
        fail("the notebooks are not here: run this from a copy of the repository")
    text = _CONFIG.format(
        kit=str(_NOTEBOOKS / "nbgrader_config.py"),
        root=str(course),
        course_id=course.name,
        exchange=str((exchange or course / "exchange").resolve()),
    )
    try:
        shutil.copytree(_NOTEBOOKS / "source", course / "source", dirs_exist_ok=True)
        config.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{course} can't be written: {error.strerror}")
    click.echo(f"A new course: {course}")
