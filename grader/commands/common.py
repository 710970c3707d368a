"""What several commands share: the file and its exercise, and a report on it."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path

import click

from grader.cli import fail
from grader.exercises import EXERCISES
from grader.records import Report
from grader.render.working import working
from grader.service import GraderError, read_source, warm_judge


def submission(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command FILE and --exercise; it gets `path` and `exercise`."""

    @click.argument("file", required=False, type=click.Path(path_type=Path))
    @click.option(
        "--exercise", type=click.Choice(list(EXERCISES)), default="cube", show_default=True
    )
    @functools.wraps(command)
    def with_path(file: Path | None, exercise: str, **options: object) -> None:
        path = file or Path("starter") / f"{exercise}.py"
        command(path=path, exercise=exercise, **options)

    return with_path


def graded(path: Path, exercise: str) -> Report:
    """Grade one file, or end with status 2."""
    try:
        with warm_judge() as judge, working(f"checking {path}"):
            return judge.grade(read_source(path), exercise)
    except GraderError as error:
        fail(str(error))


def need(*modules: str) -> None:
    """End with status 2 and a way on when something of the extra `loop` is missing."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        words = " and ".join(missing)
        fail(f"this needs {words}: make watch installs it, and so does pip install -e '.[loop]'")


def picture_path(_: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a picture that is neither PNG nor SVG."""
    if path and path.suffix.lower() not in (".png", ".svg"):
        words = "the name has to end in .png or .svg"
        raise click.BadParameter(words, param=option)
    return path
