"""`grader plot`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from grader.cli import fail
from grader.commands.common import need, picture_path, submission
from grader.render.working import working
from grader.service import GraderError, read_source, warm_judge


@click.command("plot")
@submission
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    callback=picture_path,
    help="The picture's file, .png or .svg (default: build/EXERCISE.png).",
)
def command(path: Path, exercise: str, out: Path | None) -> None:
    """Draw the gradient of FILE (default: starter/cube.py) and the true one over x.

    Points are the numerical derivative of your forward; below is the difference.
    """
    need("matplotlib", "plotext")
    out = out or Path("build") / f"{exercise}.png"
    try:
        with warm_judge() as judge, working(f"drawing {path}"):
            from grader.render import curve as render
            from grader.render import picture
            from grader.render.stream import columns

            curve = judge.curve(read_source(path), exercise)
            if render.drawable(curve):
                picture.save(curve, out)
    except GraderError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{out} can't be written: {error.strerror}")
    stream = sys.stdout
    stream.write(render.render(curve, columns=columns(stream), encoding=stream.encoding))
    if not render.drawable(curve):
        sys.exit(1)
    stream.write(f"\nThe picture: {out}\n")
