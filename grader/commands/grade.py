"""`grader grade`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from grader.cli import fail
from grader.exercises import EXERCISES
from grader.records import Report
from grader.service import GraderError, read_source, warm_judge


@click.command("grade")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--exercise", type=click.Choice(list(EXERCISES)), default="cube", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option("--junit", type=click.Path(path_type=Path), help="Also write JUnit XML to this file.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Repeat the run with this seed.")
@click.option("--verbose", is_flag=True, help="Show technical texts, output and isolation.")
@click.option("--strict", is_flag=True, help="Let advice fail the submission, too.")
def command(
    file: Path | None,
    exercise: str,
    as_json: bool,
    junit: Path | None,
    seed: int | None,
    verbose: bool,
    strict: bool,
) -> None:
    """Grade FILE (default: starter/cube.py) and explain the verdict."""
    path = file or Path("starter") / f"{exercise}.py"
    with warm_judge() as judge:
        # The judge is loading torch; meanwhile come the libraries that show its report.
        show = _json if as_json else _terminal(verbose=verbose)
        write_junit = _junit(junit) if junit else None
        try:
            report = judge.grade(read_source(path), exercise, seed, strict=strict)
            if write_junit:
                write_junit(report)
        except GraderError as error:
            fail(str(error))
        except OSError as error:
            fail(f"{junit} can't be written: {error.strerror}")
        sys.stdout.write(show(report))
    _exit(report)


def _json(report: Report) -> str:
    from grader.render import json

    return json.render(report) + "\n"


def _terminal(*, verbose: bool) -> Callable[[Report], str]:
    from grader.render import terminal

    stream = sys.stdout
    color = stream.isatty() and not os.environ.get("NO_COLOR")
    encoding = stream.encoding or "ascii"
    return lambda report: terminal.render(report, color=color, encoding=encoding, verbose=verbose)


def _junit(path: Path) -> Callable[[Report], object]:
    from grader.render import junit

    return lambda report: path.write_text(junit.render(report), encoding="utf-8")


def _exit(report: Report) -> NoReturn:
    """End at once, without the interpreter's teardown."""
    sys.stdout.flush()
    os._exit(0 if report.verdict == "pass" else 1)
