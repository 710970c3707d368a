"""The command line: options and exit codes; the work is done elsewhere.

Exit status: 0 passed; 1 the submission failed, whatever its reason; 2 usage,
environment or a fault of the grader itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from grader import GraderError, warm_judge
from grader.service import read_source

_EXERCISES = ("cube", "square")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Grade the exercise on writing your own backward pass."""


@main.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--exercise", type=click.Choice(_EXERCISES), default="cube", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option("--junit", type=click.Path(path_type=Path), help="Also write JUnit XML to this file.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Repeat the run with this seed.")
@click.option("--verbose", is_flag=True, help="Show technical texts, output and isolation.")
@click.option("--strict", is_flag=True, help="Let advice fail the submission, too.")
def grade(
    file: Path | None,
    exercise: str,
    as_json: bool,
    junit: Path | None,
    seed: int | None,
    verbose: bool,
    strict: bool,
) -> None:
    """Grade FILE (default: starter/cube.py) and explain the verdict."""
    with warm_judge() as judge:
        # Meanwhile the judge loads torch; here come the libraries that show its report.
        from grader import render

        path = file or Path("starter") / f"{exercise}.py"
        try:
            report = judge.grade(read_source(path), exercise, seed, strict=strict)
            if junit:
                junit.write_text(render.junit(report), encoding="utf-8")
        except GraderError as error:
            _fail(str(error))
        except OSError as error:
            _fail(f"{junit} can't be written: {error.strerror}")
        if as_json:
            click.echo(render.json(report))
        else:
            sys.stdout.write(render.terminal(report, sys.stdout, verbose=verbose))
        sys.stdout.flush()
    raise SystemExit(0 if report.verdict == "pass" else 1)


def _fail(message: str) -> None:
    click.echo(f"grader: {message}", err=True)
    raise SystemExit(2)
