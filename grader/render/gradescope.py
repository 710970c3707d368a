"""The report as Gradescope's results.json.

Source: gradescope-autograders.readthedocs.io, "Autograder Specifications".
"""

from __future__ import annotations

import json
from typing import Any

from grader.records import CheckResult, Report
from grader.render import terminal
from grader.render.text import spell

_STATUS = {"pass": "passed", "fail": "failed", "skipped": "failed"}


def render(report: Report) -> str:
    """Return results.json: partial scores, what a student sees, what only teachers see."""
    tests = [_test(i, check) for i, check in enumerate(report.checks, 1) if check.max_points]
    results = {
        "score": report.score,
        "execution_time": report.seconds,
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "output_format": "text",
        "output": terminal.render(report, color=False, encoding="utf-8", verbose=False),
        "tests": [*tests, _for_teachers(report)],
        "extra_data": {
            "verdict": report.verdict,
            "mistakes": [diagnosis.mistake for diagnosis in report.diagnoses],
            "seed": report.seed,
        },
    }
    return json.dumps(results, indent=2)


def _test(number: int, check: CheckResult) -> dict[str, Any]:
    return {
        "number": str(number),
        "name": check.title,
        "score": check.points,
        "max_score": check.max_points,
        "status": _STATUS[check.status],
        "output": _clean(check.message),
        "output_format": "text",
        "visibility": "visible",
        "tags": [check.name],
    }


def _for_teachers(report: Report) -> dict[str, Any]:
    """What students needn't see: how the code was shut in, what it did, what it printed."""
    layers = [f"{x.name}: {'on' if x.on else 'OFF'}, {x.why}" for x in report.isolation]
    events = [f"did: {event}" for event in report.events]
    lines = [*layers, *events, *(["printed:", report.output[:4000]] if report.output else [])]
    return {
        "name": "For teachers: isolation and events",
        "status": "passed",
        "output": _clean("\n".join(lines)),
        "output_format": "text",
        "visibility": "hidden",
    }


def _clean(text: str) -> str:
    """Escape what a page can't show."""
    return "\n".join(spell(text, "utf-8"))
