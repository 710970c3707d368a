"""Which formula reproduces the student's numbers: a known row, or a fit.

A name needs proof: the formula is computed for every probe and has to give what
the student's code gave, nan for nan.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from grader.questions import Outcome
from grader.records import Formula

#: Relative agreement that counts as "reproduces".
_AGREES = 1e-9
#: For code that works in float32 on the way.
_AGREES_IN_FLOAT32 = 1e-5


@dataclass(frozen=True)
class Probe:
    """What went into one backward, and what the student's code gave back (float64)."""

    x: torch.Tensor
    grad_output: torch.Tensor
    yours: torch.Tensor


def probes(outcomes: Sequence[Outcome]) -> list[Probe]:
    """The probes of those questions that got a gradient of the right shape."""
    found = []
    for outcome in outcomes:
        if outcome.answer is None:
            continue
        yours = outcome.answer.tensors.get("grad0")
        x, g = outcome.question.x.get("grad0"), outcome.question.grad_output.get("grad0")
        if yours is None or x is None or g is None or yours.shape != x.shape:
            continue
        if yours.dtype.is_floating_point:
            found.append(Probe(x.double(), g.double(), yours.double()))
    return found


def known(formulas: Sequence[Formula], given: Sequence[Probe]) -> Formula | None:
    """The row that reproduces every probe, or None."""
    agreement = _AGREES_IN_FLOAT32 if in_float32(given) else _AGREES
    if not given:
        return None
    return next((f for f in formulas if reproduces(f.gradient, given, agreement)), None)


def reproduces(
    gradient: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    given: Sequence[Probe],
    agreement: float = _AGREES,
) -> bool:
    """Whether a formula gives the student's numbers at every probe."""
    return all(_same(gradient(p.x, p.grad_output), p.yours, agreement) for p in given)


def _same(ours: torch.Tensor, yours: torch.Tensor, agreement: float) -> bool:
    return torch.allclose(
        ours.double().expand_as(yours), yours, agreement, agreement, equal_nan=True
    )


def in_float32(given: Sequence[Probe]) -> bool:
    """Whether all of the student's numbers are float32 numbers, so that digits were lost."""
    numbers = torch.cat([p.yours.flatten() for p in given]) if given else torch.empty(0)
    finite = numbers[torch.isfinite(numbers) & (numbers != 0)]
    return bool(finite.numel()) and torch.equal(finite.float().double(), finite)


# The fit c · xᵖ · grad_outputᑫ


@dataclass(frozen=True)
class Fit:
    """c · xᵖ · grad_outputᑫ, with |x| or |grad_output| where said.

    With `added` it is what comes on top of the right gradient.
    """

    c: float
    p: float
    q: float
    absolute: bool = False
    absolute_grad: bool = False
    added: bool = False

    def __str__(self) -> str:
        if self.added:
            sign = "-" if self.c < 0 else "+"
            return (
                f"the right gradient {sign} {dataclasses.replace(self, c=abs(self.c), added=False)}"
            )
        factors = [
            _power("|grad_output|" if self.absolute_grad else "grad_output", self.q),
            _power("|x|" if self.absolute else "x", self.p),
        ]
        named = [f for f in factors if f]
        constant = number(self.c)
        if constant != "1" or not named:
            named.insert(0, constant)
        return " · ".join(named).replace("-1 · ", "-")


def fit(
    given: Sequence[Probe], true: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> Fit | None:
    """The simple formula behind the numbers, proven at every probe, or None.

    First the product alone, then the true gradient plus a product, such as
    "the right gradient + 1".
    """
    product = _product(given)
    if product:
        return product
    rest = [Probe(p.x, p.grad_output, p.yours - true(p.x, p.grad_output)) for p in given]
    product = _product(rest)
    return dataclasses.replace(product, added=True) if product else None


def _product(given: Sequence[Probe]) -> Fit | None:
    x = torch.cat([p.x.flatten() for p in given])
    g = torch.cat([p.grad_output.flatten() for p in given])
    y = torch.cat([p.yours.flatten() for p in given])
    usable = (x != 0) & (y != 0) & torch.isfinite(y)
    if usable.sum() < 6 or not torch.isfinite(y).all():
        return None
    logs = torch.stack([torch.ones_like(x), x.abs().log(), g.abs().log()], dim=1)[usable]
    solution = torch.linalg.lstsq(logs, y[usable].abs().log().unsqueeze(1)).solution.flatten()
    p, q = (round(float(v) * 2) / 2 for v in solution[1:])
    c = math.exp(float(solution[0]))
    for sign, *absolute in itertools.product((1, -1), (False, True), (False, True)):
        candidate = Fit(sign * _round(c), p, q, *absolute)
        if _reproduces_product(candidate, given):
            return candidate
    return None


def _reproduces_product(f: Fit, given: Sequence[Probe]) -> bool:
    def gradient(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        base = x.abs() if f.absolute else x
        return f.c * base**f.p * (g.abs() if f.absolute_grad else g) ** f.q

    return reproduces(gradient, given, 1e-8)


def _round(c: float) -> float:
    for digits in (0, 1, 2, 3, 6):
        if math.isclose(round(c, digits), c, rel_tol=1e-9):
            return round(c, digits)
    return c


def number(c: float) -> str:
    """A number as a person writes it: 3, 1/3, or six digits."""
    for denominator in (1, 2, 3, 4, 6, 9):
        if math.isclose(c * denominator, round(c * denominator), rel_tol=1e-9):
            top = round(c * denominator)
            return str(top) if denominator == 1 else f"{top}/{denominator}"
    return f"{c:.6g}"


_RAISED = str.maketrans("0123456789-.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻·")


def _power(name: str, exponent: float) -> str:
    if exponent == 0:
        return ""
    if exponent == 1:
        return name
    return name + f"{exponent:g}".translate(_RAISED)
