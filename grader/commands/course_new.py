"""`grader course-new`."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from grader.cli import fail

_NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

_CONFIG = '''"""This course: the kit's configuration, and below it what is different here."""

from pathlib import Path

kit = Path({kit!r})
if not kit.exists():  # nbgrader would go on without it, in its own way
    raise SystemExit(f"{{kit}} is gone; say in {{__file__}} where it is now")

c = get_config()
load_subconfig(str(kit))

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
        for assignment in (_NOTEBOOKS / "source").iterdir():
            if not (course / "source" / assignment.name).exists():
                ignore = shutil.ignore_patterns(".*")
                shutil.copytree(assignment, course / "source" / assignment.name, ignore=ignore)
        config.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{course} can't be written: {error.strerror}")
    click.echo(f"A new course: {course}")
