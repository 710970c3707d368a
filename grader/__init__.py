"""Grade an exercise on writing your own backward pass."""

from __future__ import annotations

from pathlib import Path

from grader.records import Report
from grader.service import GraderError, JudgeProcess, read_source, warm_judge

__all__ = ["GraderError", "JudgeProcess", "Report", "grade", "warm_judge"]


def grade(
    path: str | Path, exercise: str = "cube", *, seed: int | None = None, strict: bool = False
) -> Report:
    """Grade the file at `path` and return the report; see `grader.records.Report`.

    The student's code runs in a process of its own. `seed` repeats a run;
    with `strict`, advice fails the submission, too.

    Raises:
        GraderError: the environment or the grader itself is at fault.
    """
    with warm_judge() as judge:
        return judge.grade(read_source(Path(path)), exercise, seed, strict=strict)
