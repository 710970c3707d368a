"""`grader gradescope`, which the autograder's run_autograder calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from grader.cli import fail
from grader.exercises import EXERCISES
from grader.render import gradescope
from grader.service import GraderError, read_source, warm_judge
from grader.source import Source


@click.command("gradescope")
@click.option("--root", type=click.Path(path_type=Path), default="/autograder", show_default=True)
@click.option("--exercise", type=click.Choice(list(EXERCISES)), default="cube", show_default=True)
def command(root: Path, exercise: str) -> None:
    """Grade the file in ROOT/submission and write ROOT/results/results.json, as Gradescope asks."""
    try:
        with warm_judge() as judge:
            report = judge.grade(_submission(root / "submission", exercise), exercise)
        results = root / "results" / "results.json"
        results.parent.mkdir(exist_ok=True)
        results.write_text(gradescope.render(report), encoding="utf-8")
    except GraderError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")


def _submission(folder: Path, exercise: str) -> Source:
    """The student's file: the one with the right name, or the only one."""
    files = sorted(folder.rglob("*.py"))
    exact = [file for file in files if file.name == f"{exercise}.py"]
    chosen = exact or files
    if len(chosen) == 1:
        return replace(read_source(chosen[0]), name=chosen[0].name)
    there = ", ".join(sorted(file.name for file in folder.rglob("*") if file.is_file()))
    words = f"One {exercise}.py is to be handed in. There is {there or 'nothing'}."
    return Source(f"{exercise}.py", b"", unreadable=words)
