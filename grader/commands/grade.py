"""`grader grade`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from grader.cli import fail
from grader.commands.common import need, picture_path, submission
from grader.records import Curve, Report
from grader.render.working import working
from grader.service import GraderError, read_source, warm_judge


@click.command("grade")
@submission
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option("--junit", type=click.Path(path_type=Path), help="Also write JUnit XML to this file.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    callback=picture_path,
    help="Also draw the gradient into this file, .png or .svg.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Repeat the run with this seed.")
@click.option("--verbose", is_flag=True, help="Show technical texts, output and isolation.")
@click.option("--strict", is_flag=True, help="Let advice fail the submission, too.")
def command(
    path: Path,
    exercise: str,
    as_json: bool,
    junit: Path | None,
    plot: Path | None,
    seed: int | None,
    verbose: bool,
    strict: bool,
) -> None:
    """Grade FILE (default: starter/cube.py) and explain the verdict."""
    if plot:
        need("matplotlib", "plotext")
    source, curve = read_source(path), None
    try:
        with warm_judge() as judge, working(f"checking {path}"):
            # The judge is loading torch; meanwhile come the libraries that show its report.
            show = _json if as_json else _terminal(verbose=verbose)
            write_junit = _junit(junit) if junit else None
            draw = _picture(plot) if plot else None
            report = judge.grade(source, exercise, seed, strict=strict)
            if write_junit:
                write_junit(report)
            if draw:
                curve = judge.curve(source, exercise)
                draw(curve)
    except GraderError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename} can't be written: {error.strerror}")
    sys.stdout.write(show(report))
    if curve and not as_json:
        sys.stdout.write(_chart(curve, plot))
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


def _picture(path: Path) -> Callable[[Curve], None]:
    from grader.render import curve, picture

    def draw(numbers: Curve) -> None:
        if curve.drawable(numbers):
            picture.save(numbers, path)

    return draw


def _chart(curve: Curve, path: Path | None) -> str:
    from grader.render import curve as render
    from grader.render.stream import columns

    text = render.render(curve, columns=columns(sys.stdout), encoding=sys.stdout.encoding)
    return f"\n{text}" + (f"\nThe picture: {path}\n" if render.drawable(curve) else "")


def _junit(path: Path) -> Callable[[Report], object]:
    from grader.render import junit

    return lambda report: path.write_text(junit.render(report), encoding="utf-8")


def _exit(report: Report) -> NoReturn:
    """End at once, without the interpreter's teardown."""
    sys.stdout.flush()
    os._exit(0 if report.verdict == "pass" else 1)
