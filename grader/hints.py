"""The ladder of hints: one rung at a time, from the top again when the mistake changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.memory import Memory
from grader.records import Report

Step = Literal["next", "again", "first"]


@dataclass(frozen=True)
class Hint:
    """One rung: `number` of `count`, for the mistake with this title."""

    title: str
    number: int
    count: int
    text: str


def climb(report: Report, memory: Memory, step: Step = "next") -> Hint | None:
    """Return a hint on the main mistake and note it in `memory`; None when there is no mistake."""
    if report.verdict == "pass" or not report.diagnoses:
        return None
    main = report.diagnoses[0]
    ladder = main.hints or (main.hint or main.explanation,)
    seen = memory.rungs if memory.mistake == main.mistake else 0
    number = {"next": seen + 1, "again": seen, "first": 1}[step]
    number = min(max(number, 1), len(ladder))
    memory.mistake, memory.rungs = main.mistake, number
    return Hint(main.title, number, len(ladder), ladder[number - 1])
