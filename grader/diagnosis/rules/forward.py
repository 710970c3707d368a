"""The value of `Cube.apply(x)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import torch

from grader.checks import kind_words
from grader.diagnosis import errors
from grader.diagnosis.case import Case, Sight
from grader.questions import Finding


def wrong_forward(case: Case) -> Iterator[Sight]:
    """The value of Cube.apply(x)."""
    syntax, seen = case.syntax, case.seen
    for finding in case.findings("forward")[:1]:
        result = syntax.result_line(syntax.forward)
        about = finding.facts.get("about", {})
        returned = case.returned(seen.forward, "forward")
        if finding.kind == "error":
            yield errors.explain(
                case, finding.facts["error"], str(finding.facts["error"].get("stage"))
            )
        elif finding.output == "x":
            names = set(syntax.parameters(syntax.forward)) - {"ctx"}
            yield Sight("mutates-input", syntax.in_place(syntax.forward, names) or result)
        elif finding.kind == "builtin":
            yield Sight("result-not-from-cube", syntax.cube)
        elif finding.kind == "missing":
            yield Sight("forward-not-a-tensor", result, kind_words(about or returned))
        elif finding.kind == "shape":
            shape, x = about.get("shape"), list(finding.question.x["y"].shape)
            words = f"For an x of shape {x} forward returned the shape {shape}."
            one, total = about.get("one"), float(finding.question.expected["y"].sum())
            is_sum = isinstance(one, float) and abs(one - total) <= 1e-9 * (1 + abs(total))
            yield Sight("sum-instead-of-elementwise" if is_sum else "wrong-forward", result, words)
        elif finding.kind == "dtype":
            yield from dtype_kept(finding, result)
        elif finding.worst:
            yield _wrong_value(case, finding, result)


def dtype_kept(finding: Finding, where: ast.AST | None) -> Iterator[Sight]:
    """A value came back in another dtype than x."""
    got, went_in = (
        finding.facts["about"].get("dtype"),
        finding.question.expected[finding.output].dtype,
    )
    words = f"{str(went_in)[6:]} went in, {got} came out."
    key = {"float32": "float32-cast"}.get(str(got), "wrong-dtype")
    key = "integer-cast" if str(got).startswith(("int", "uint", "bool")) else key
    yield Sight(key, where, words)


#: Functions that forward computes by mistake, as they are written.
_OTHERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "x": lambda x: x,
    "3": lambda x: 0 * x + 3,
    "3x": lambda x: 3 * x,
    "x + 3": lambda x: x + 3,
    "x²": lambda x: x**2,
    "3x²": lambda x: 3 * x**2,
    "-x³": lambda x: -(x**3),
    "2x³": lambda x: 2 * x**3,
    "x³/3": lambda x: x**3 / 3,
    "x³ + 3": lambda x: x**3 + 3,
    "|x|³": lambda x: x.abs() ** 3,
    "x⁴": lambda x: x**4,
    "x⁶": lambda x: x**6,
    "x⁹": lambda x: x**9,
    "3ˣ": lambda x: 3**x,
}


def _wrong_value(case: Case, finding: Finding, where: ast.AST | None) -> Sight:
    worst = finding.worst
    assert worst is not None
    x, yours = _finite(case.seen.forward)
    name = next(
        (n for n, f in _OTHERS.items() if x.numel() and torch.allclose(f(x), yours, 1e-9, 1e-9)),
        None,
    )
    if name:
        return Sight("wrong-forward", where, f"Yours computes {name}.")
    close = x.numel() and torch.allclose(x**3, yours, 1e-5, 1e-5)
    if close and torch.equal(yours.float().double(), yours):
        return Sight("float32-cast", where, "The value is right to seven digits only.")
    return Sight("wrong-forward", where, f"At x = {worst.x:.4g} yours gives {worst.yours:.6g}.")


def _finite(outcomes: list) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[type-arg]
    for outcome in outcomes[:1]:
        y = outcome.answer.tensors.get("y") if outcome.answer else None
        if y is not None and y.shape == outcome.question.x["y"].shape:
            return outcome.question.x["y"], y.double()
    return torch.empty(0), torch.empty(0)
