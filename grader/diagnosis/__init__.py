"""From what was observed to named mistakes: the main one first.

A rule looks at the case and yields what it sees. Rules run in the order in
which a mistake explains others: a file that can't be read, a process that ended,
forward, backward, the contract, the helper; advice comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grader.checks import Observations
from grader.diagnosis.case import Case, Sight
from grader.diagnosis.catalogue import CATALOGUE, FAMILIES
from grader.diagnosis.rules import advice, backward, conduct, contract, forward, helper, loading
from grader.diagnosis.syntax import Syntax
from grader.records import CheckResult, Diagnosis, Line, Mistake
from grader.source import Source

__all__ = ["diagnose"]

RULES: tuple[Callable[[Case], Iterator[Sight]], ...] = (
    loading.unreadable,
    conduct.conduct,
    loading.not_loaded,
    loading.ended,
    conduct.pretends,
    forward.wrong_forward,
    helper.goes_round,
    backward.wrong_backward,
    contract.broken_contract,
    helper.wrong_helper,
    advice.advice,
    advice.settings,
)


def diagnose(
    source: Source,
    seen: Observations,
    checks: tuple[CheckResult, ...],
    *,
    events: tuple[tuple[str, str], ...] = (),
    output: str = "",
    left_behind: int = 0,
) -> tuple[Diagnosis, ...]:
    """All that is seen in one submission, each mistake once, the main one first."""
    syntax = Syntax(source, seen.exercise)
    case = Case(source, syntax, seen, checks, events, output, left_behind)
    sights: dict[str, Sight] = {}
    for rule in RULES:
        for sight in rule(case):
            sights.setdefault(sight.key, sight)
    named = [
        s for s in sights.values() if s.severity == "error" and not s.key.startswith("unnamed")
    ]
    if named:  # then an error without a name is most likely its consequence
        sights = {k: s for k, s in sights.items() if not k.startswith("unnamed")}
    if case.failed and not any(s.severity == "error" for s in sights.values()):
        sights = {"unnamed": _unnamed(case), **sights}
    return tuple(_word(case, sight) for sight in sights.values())


def _unnamed(case: Case) -> Sight:
    """What to say when nothing explains the numbers: the worst point."""
    failed = min(
        (c for c in case.checks if c.status == "fail"),
        key=lambda c: ("load", "forward", "backward", "contract", c.name).index(c.name),
    )
    where = {"backward": case.syntax.backward, "forward": case.syntax.forward}.get(
        failed.name, case.syntax.helper
    )
    return Sight("unnamed", case.syntax.result_line(where), technical=failed.message)


def _word(case: Case, sight: Sight) -> Diagnosis:
    """A sight in the words of the catalogue, with the student's line."""
    mistake = sight.mistake or CATALOGUE[sight.key]
    exercise = case.exercise
    names = {
        "c": exercise.class_name,
        "h": exercise.helper_name,
        "f": exercise.formula,
        "d": exercise.derivative,
        "detail": sight.detail,
    }

    def fill(text: str) -> str:
        return text.format(**names)

    line = sight.where if isinstance(sight.where, Line) else case.syntax.line(sight.where)
    return Diagnosis(
        mistake=mistake.key,
        severity=sight.severity,
        title=fill(mistake.title),
        explanation=fill(mistake.explanation).strip(),
        evidence=sight.evidence,
        line=line,
        hint=fill(mistake.question),
        hints=_ladder(mistake, line, fill),
        detail=sight.technical,
    )


def _ladder(mistake: Mistake, line: Line | None, fill: Callable[[str], str]) -> tuple[str, ...]:
    """The rungs of `grader hint`: a question, the concept, where to look, the shape."""
    concept, shape = FAMILIES[mistake.family]
    rungs = [fill(mistake.question), fill(concept)]
    if line:
        rungs.append(f"Look at line {line.number}: {line.text.strip()}")
    return (*rungs, fill(shape))
