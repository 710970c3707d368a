"""`grader class`."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

import click

from grader.classroom.crew import Crew, Grader
from grader.cli import fail
from grader.exercises import EXERCISES
from grader.service import GraderError
from grader.student import bubblewrap


@click.command("class")
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where results go.")
@click.option("--exercise", type=click.Choice(list(EXERCISES)), default="cube", show_default=True)
@click.option("--jobs", type=click.IntRange(1, 512), help="Submissions at a time [each core one].")
@click.option("--resume", is_flag=True, help="Go on where a run into the same folder stopped.")
@click.option("--anonymous", is_flag=True, help="Numbers for names, but in grades.csv.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Repeat a run (see run.json).")
@click.option("--junit", type=click.Path(path_type=Path), help="Also write JUnit XML to this file.")
@click.option("--gradescope", is_flag=True, help="Also write a results.json for each student.")
@click.option("--scheduler", metavar="ADDRESS", help="Grade on this Dask cluster.")
@click.option("--trust-submissions", is_flag=True, help="Go on where bubblewrap does not work.")
def command(
    submissions: Path,
    out: Path,
    exercise: str,
    jobs: int | None,
    resume: bool,
    anonymous: bool,
    seed: int | None,
    junit: Path | None,
    gradescope: bool,
    scheduler: str | None,
    trust_submissions: bool,
) -> None:
    """Grade SUBMISSIONS, a folder or a zip of a course system, into the folder OUT.

    A folder of STUDENT.py, of STUDENT/cube.py, of STUDENT/cube/cube.py, or a zip
    as Canvas, Moodle and Gradescope give them out.
    """
    signal.signal(signal.SIGTERM, _stop)
    _need("jinja2", "matplotlib")
    with contextlib.ExitStack() as at_the_end:
        try:
            grader = _grader(jobs, scheduler, trust=trust_submissions)
            at_the_end.callback(grader.close)
            # Torch is being loaded; meanwhile comes what writes the reports, without
            # garbage collections on the way, which would take a fifth of the time.
            gc.disable()
            from grader.classroom.progress import Progress
            from grader.classroom.record import Record
            from grader.classroom.run import Run
            from grader.classroom.submissions import find
            from grader.render import figures  # noqa: F401

            gc.freeze()
            gc.enable()
            found = find(submissions, exercise)
            record = Record.open(out, exercise, seed, resume=resume)
            run = Run(found, record, anonymous=anonymous, gradescope=gradescope, junit=junit)
            for name, why in found.unassigned:
                click.echo(f"grader: not assigned: {name!r}: {why}", err=True)
            with Progress(len(found.submissions)) as progress:
                run.grade(grader, progress.graded)
            summary = run.finish()
        except GraderError as error:
            fail(str(error))
        except OSError as error:
            fail(f"{error.filename or out}: {error.strerror or error}")
        except KeyboardInterrupt:
            fail(f"stopped; what is graded is kept, and --resume goes on (--out {out})")
    click.echo(f"{summary.passed} of {len(summary.rows)} passed: {out / 'class.html'}")
    for student, fault in run.faults.items():
        click.echo(f"grader: not graded: {student!r}: {fault}", err=True)
    sys.exit(2 if run.faults else 0)


def _need(*modules: str) -> None:
    """End with status 2 and a way on when something of the extra `instructor` is missing."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        words = " and ".join(missing)
        fail(f"this needs {words}: make grade-class installs it, or pip install -e '.[instructor]'")


def _crew(jobs: int, *, trust: bool) -> Crew:
    """A crew that has begun to load torch; ends here when it can't be shut in and nobody trusts."""
    crew = Crew(jobs)
    crew.start()  # it mostly can, and the question takes a while
    missing = bubblewrap.missing()
    if missing is None:
        return crew
    crew.close()
    if not trust:
        fail(f"{missing}; or add --trust-submissions, and their code can read your files")
    click.echo(f"grader: {missing}; going on because of --trust-submissions", err=True)
    crew = Crew(jobs, missing)
    crew.start()
    return crew


def _grader(jobs: int | None, scheduler: str | None, *, trust: bool) -> Grader:
    """What grades: a crew here, which has begun to load torch, or a cluster."""
    if scheduler:
        from grader.classroom.cluster import Cluster

        return Cluster(scheduler, trust=trust)
    if not sys.platform.startswith("linux"):
        fail("a class is graded on Linux: use one in a virtual machine, or --scheduler to reach it")
    return _crew(jobs or _cores(), trust=trust)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _stop(*_: object) -> NoReturn:
    raise KeyboardInterrupt
