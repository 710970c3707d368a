"""Everything that a rule may look at, and what a rule gives back."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.checks import Observations
from grader.diagnosis import formulas
from grader.diagnosis.syntax import Function, Syntax
from grader.questions import Finding, Outcome
from grader.records import CheckResult, Exercise, Line, Mistake, Severity
from grader.source import Source


@dataclass(frozen=True)
class Sight:
    """A mistake that was seen: its place, its evidence, and words for `{detail}`."""

    key: str
    where: ast.AST | Line | None = None
    detail: str = ""
    evidence: str = ""
    severity: Severity = "error"
    #: The mistake itself where it stands with its exercise, not in the catalogue.
    mistake: Mistake | None = None
    technical: str = ""


@dataclass(frozen=True)
class Case:
    """One submission with all that was observed of it."""

    source: Source
    syntax: Syntax
    seen: Observations
    checks: tuple[CheckResult, ...]
    events: tuple[tuple[str, str], ...] = ()
    output: str = ""
    left_behind: int = 0

    @property
    def exercise(self) -> Exercise:
        """The exercise that was graded."""
        return self.seen.exercise

    @property
    def failed(self) -> bool:
        """Whether any check failed."""
        return any(c.status == "fail" for c in self.checks)

    def findings(self, check: str) -> list[Finding]:
        """What is wrong in one check, or nothing where a check it rests on failed already."""
        if check != "forward" and self.seen.findings("forward"):
            return []
        return self.seen.findings(check)

    @cached_property
    def probes(self) -> list[formulas.Probe]:
        """The probes of backward."""
        return formulas.probes(self.seen.backward)

    @cached_property
    def helper_probes(self) -> list[formulas.Probe]:
        """The probes of the helper, with ones for grad_output."""
        ordinary = [o for o in self.seen.helper if o.question.aspect in ("values", "shape")]
        return formulas.probes(ordinary)

    def returned(self, outcomes: list[Outcome], method: str) -> dict[str, Any]:
        """What `forward` or `backward` itself returned in the first of these answers."""
        for outcome in outcomes:
            returned = outcome.answer.facts.get("returned") if outcome.answer else None
            if isinstance(returned, dict) and isinstance(returned.get(method), dict):
                return returned[method]  # type: ignore[no-any-return]
        return {}

    def fact(self, answer: Any, name: str) -> list[str]:
        """A fact that is a list of strings; [] for anything else (facts are not believed)."""
        value = answer.facts.get(name) if answer else None
        return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []

    def error_line(self, error: dict[str, Any]) -> Line | None:
        """The innermost line of the student's file in an error's traceback."""
        where = error.get("where")
        if isinstance(where, list) and where and isinstance(where[-1], list) and where[-1]:
            number = where[-1][0]
            return self.source.line(number) if isinstance(number, int) else None
        return None

    def function_of(self, stage: str) -> Function | None:
        """The student's function behind a stage of the run."""
        return {
            "forward": self.syntax.forward,
            "backward": self.syntax.backward,
            "cube_grad": self.syntax.helper,
        }.get(stage)

    def numbers(self, finding: Finding) -> str:
        """The worst point of a finding in a sentence, or "" where there is none."""
        worst = finding.worst
        if worst is None:
            return ""
        upstream = (
            "" if worst.grad_output is None else f" and grad_output = {worst.grad_output:.4g}"
        )
        ratio = "" if worst.ratio is None else f" (ratio {worst.ratio:.4g})"
        return (
            f"At x = {worst.x:.4g}{upstream} yours is {worst.yours:.6g}; "
            f"expected {worst.expected:.6g}{ratio}."
        )

    @property
    def writing_in_backward(self) -> ast.AST | None:
        """Where backward writes into grad_output or a saved tensor."""
        function = self.syntax.backward
        names = set(self.syntax.parameters(function)[1:]) | self.syntax.saved_names(function)
        return self.syntax.in_place(function, names)

    @property
    def backward_ran_in_helper(self) -> bool:
        """Whether the helper went through backward; True where that can't be seen."""
        answer = self.seen.helper[0].answer if self.seen.helper else None
        if answer is None or not self.returned(self.seen.backward, "backward"):
            return True
        returned = answer.facts.get("returned")
        return isinstance(returned, dict) and "backward" in returned

    @cached_property
    def writes_a_verdict(self) -> bool:
        """Whether something that the file prints or writes looks like a grader's result."""
        words = ('"passed"', '"score"', '"verdict"', "'verdict'")
        if any(word in self.output for word in words):
            return True
        constants = {
            n.value
            for n in ast.walk(self.syntax.tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str)
        }
        names = {"results.json", "report.json", "result.json", "verdict.json", "gradebook.db"}
        return bool(constants & names) or constants >= {"passed", "verdict", "score"}
