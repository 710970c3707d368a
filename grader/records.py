"""The plain data that passes from room to room; imports nothing of grader."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["pass", "fail", "skipped"]
Severity = Literal["error", "advice"]
Verdict = Literal["pass", "fail"]

#: Version of the JSON report; it grows only when a field changes its meaning.
SCHEMA = 1


@dataclass(frozen=True)
class Mistake:
    """What is said of one known mistake, whatever file shows it.

    ``{c}``, ``{h}``, ``{f}`` and ``{d}`` in the texts stand for the exercise's
    class, its helper, its formula and the derivative as one would name it, d(x³)/dx.
    """

    key: str
    #: Under 60 characters.
    title: str
    #: Why it is wrong, in the lesson's terms.
    explanation: str
    #: The first hint: a question that leads on.
    question: str
    #: A key of `grader.diagnosis.catalogue.FAMILIES`: the concept behind it.
    family: str


@dataclass(frozen=True)
class Formula:
    """A known mistake as the gradient that it computes.

    ``gradient(x, grad_output)`` takes two float64 tensors of one shape and
    returns what a backward with this mistake returns for them; ``computes``
    says so in mathematical notation.
    """

    gradient: Callable[[Any, Any], Any]
    computes: str
    mistake: Mistake


@dataclass(frozen=True)
class Exercise:
    """What one exercise asks for: names to define, the true function, its gradient.

    ``function(x)`` and ``gradient(x, grad_output)`` are the reference values, in
    closed form; ``second_derivative(x)`` is d²y/dx².
    """

    name: str
    class_name: str
    helper_name: str
    formula: str
    derivative: str
    function: Callable[[Any], Any]
    gradient: Callable[[Any, Any], Any]
    second_derivative: Callable[[Any], Any]
    formulas: tuple[Formula, ...]
    #: Shown after a pass.
    try_next: str


@dataclass(frozen=True)
class Point:
    """The worst place of a comparison: there the student's number is farthest off.

    ``index`` is the place in the tensor; ``x`` and ``grad_output`` what went in.
    """

    index: tuple[int, ...]
    x: float
    grad_output: float | None
    yours: float
    expected: float

    @property
    def ratio(self) -> float | None:
        """Yours divided by expected, or None where expected is zero."""
        return self.yours / self.expected if self.expected else None


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check; ``points`` are what it earned of ``max_points``."""

    name: str
    title: str
    status: Status
    points: float
    max_points: float
    message: str = ""
    worst: Point | None = None


@dataclass(frozen=True)
class Line:
    """A line of the student's file, as it stands there; ``number`` counts from 1."""

    number: int
    text: str
    #: First and last column to mark, from 0; equal when nothing is marked.
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Diagnosis:
    """A named mistake (or piece of advice) with its evidence and its place."""

    mistake: str
    severity: Severity
    title: str
    explanation: str
    evidence: str
    line: Line | None
    hint: str
    #: The ladder that ``grader hint`` climbs; the first rung is ``hint``.
    hints: tuple[str, ...] = ()
    #: Technical text, shown by ``--verbose`` only.
    detail: str = ""


@dataclass(frozen=True)
class Layer:
    """One layer of isolation: whether it was on in this run, and why (not)."""

    name: str
    on: bool
    why: str


@dataclass(frozen=True)
class Report:
    """Everything that is known about one graded file."""

    exercise: str
    file: str
    verdict: Verdict
    score: float
    max_score: float
    checks: tuple[CheckResult, ...]
    diagnoses: tuple[Diagnosis, ...]
    seed: int
    seconds: float
    versions: Mapping[str, str] = field(default_factory=dict)
    isolation: tuple[Layer, ...] = ()
    #: What was proven, when the file passed.
    praise: str = ""
    #: What the student's code printed (at most 1 MiB), and what it did to the system.
    output: str = ""
    events: tuple[str, ...] = ()
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data; the field names are documented in docs/json.md."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Report:
        """The inverse of `to_dict`, for reports that come back from another process."""
        checks = tuple(
            CheckResult(**{**c, "worst": _point(c.get("worst"))}) for c in data["checks"]
        )
        diagnoses = tuple(
            Diagnosis(
                **{
                    **d,
                    "line": Line(**d["line"]) if d["line"] else None,
                    "hints": tuple(d["hints"]),
                }
            )
            for d in data["diagnoses"]
        )
        return cls(
            **{
                **data,
                "checks": checks,
                "diagnoses": diagnoses,
                "isolation": tuple(Layer(**layer) for layer in data["isolation"]),
                "events": tuple(data["events"]),
            }
        )


@dataclass(frozen=True)
class Curve:
    """Gradients over x, for grad_output = 1; what can't be had is empty, and `trouble` says why.

    ``numerical`` are central differences of the student's own forward.
    """

    exercise: str
    file: str
    x: tuple[float, ...]
    true: tuple[float, ...]
    yours: tuple[float, ...] = ()
    numerical: tuple[float, ...] = ()
    trouble: str = ""


def _point(data: dict[str, Any] | None) -> Point | None:
    if not data:
        return None
    # JSON has no infinities and no nan; they come as words.
    grad_output = data["grad_output"]
    return Point(
        index=tuple(data["index"]),
        x=float(data["x"]),
        grad_output=None if grad_output is None else float(grad_output),
        yours=float(data["yours"]),
        expected=float(data["expected"]),
    )
