"""From what was observed to a named mistake."""

from __future__ import annotations

from grader.checks import Observations
from grader.records import CheckResult, Diagnosis
from grader.source import Source


def diagnose(
    source: Source, seen: Observations, checks: tuple[CheckResult, ...], student: object
) -> tuple[Diagnosis, ...]:
    return ()
