"""The vector-Jacobian product, for ordinary x and grad_output."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from grader.checks import kind_words
from grader.diagnosis import errors, formulas
from grader.diagnosis.case import Case, Sight
from grader.diagnosis.syntax import own_nodes, root
from grader.questions import Finding


def wrong_backward(case: Case) -> Iterator[Sight]:
    """The vector-Jacobian product."""
    syntax, seen = case.syntax, case.seen
    findings = case.findings("backward")
    if not findings:
        return
    finding = findings[0]
    result = syntax.result_line(syntax.backward)
    returned = case.returned(seen.backward, "backward")
    changed = next((f for f in findings if f.kind == "changed"), None)
    if finding.kind == "error":
        yield errors.explain(case, finding.facts["error"], str(finding.facts["error"].get("stage")))
    elif finding.kind == "builtin":
        yield Sight("result-not-from-cube", syntax.cube)
    elif finding.kind == "missing":
        if returned.get("kind", "none") == "none":
            function = syntax.backward
            has_return = function and any(
                isinstance(n, ast.Return) and n.value is not None for n in own_nodes(function)
            )
            words = (
                "returns None on this line"
                if has_return
                else "computes something and ends without return"
            )
            yield Sight("returns-none", result, words)
        elif returned.get("kind") != "tensor":
            yield Sight("returns-list", result, kind_words(returned))
    elif changed or _written_to(case):
        where = case.writing_in_backward
        which = changed.output if changed else "grad_output"
        yield Sight(
            "mutates-grad-out" if which == "grad_output" else "mutates-saved-tensor",
            where or result,
        )
    if finding.kind == "value":
        yield from _wrong_numbers(case, finding, result)
    elif changed:
        row = formulas.known(case.exercise.formulas, case.probes)
        if row:
            yield Sight(row.mistake.key, result, mistake=row.mistake)
    elif finding.kind == "error" and _larger_shape(case):
        yield Sight("broadcast-summed-silently", result, _larger_shape(case) or "")


def _written_to(case: Case) -> bool:
    return any(f.kind == "changed" for f in case.seen.findings("contract"))


def _wrong_numbers(case: Case, finding: Finding, result: ast.AST | None) -> Iterator[Sight]:
    """Numbers that differ: why, if anything explains all of them."""
    syntax, seen, exercise = case.syntax, case.seen, case.exercise
    probes = case.probes
    returned = case.returned(seen.backward, "backward")
    evidence = case.numbers(finding)
    larger = _larger_shape(case)
    if larger:
        yield Sight("broadcast-summed-silently", result, larger, evidence)
        return
    at_random = seen.backward[0].finding is not None
    by_hand = seen.usual_numbers
    if at_random and by_hand and by_hand.answer and by_hand.finding is None:
        yield Sight("hard-coded-reference", result, "", evidence)
        return
    row = formulas.known(exercise.formulas, probes)
    if row:
        yield from _context_behind(case, row.mistake.key)
        found = f"At all {_count(case)} numbers tried, your backward gives {row.computes}."
        yield Sight(row.mistake.key, result, "", found, mistake=row.mistake)
        return
    yield from _order_of_saved(case)
    if not at_random:
        yield from _only_later(case, finding, result, evidence)
        return
    if seen.again and not _equal(seen.again, seen.backward[0]):
        key = (
            "non-deterministic"
            if syntax.call(
                syntax.tree,
                "rand",
                "randn",
                "rand_like",
                "randn_like",
                "random",
                "bernoulli",
                "dropout",
                "randint",
                "uniform",
                "time",
            )
            else "depends-on-earlier-calls"
        )
        yield Sight(key, result, "", evidence)
        return
    true = exercise.gradient
    if probes and all(
        torch.allclose(p.yours, true(p.x, p.grad_output), 1e-4, 1e-4) for p in probes
    ):
        if _lost_digits(case) or returned.get("dtype") == "float32":
            yield Sight(
                "float32-cast",
                result,
                "The gradient is right to about seven digits only.",
                evidence,
            )
        else:
            yield Sight("inexact-gradient", result, "", evidence)
        return
    fitted = formulas.fit(probes, true) if probes else None
    if fitted:
        words = (
            f"At every number tried, backward computes {fitted}. "
            f"The chain rule asks for grad_output times {exercise.derivative}."
        )
        yield Sight("fitted-formula", result, words, evidence)
        return


def _only_later(
    case: Case, finding: Finding, result: ast.AST | None, evidence: str
) -> Iterator[Sight]:
    """The first answer was right: what was different about this one."""
    first = case.seen.backward[0].question
    x, g = first.arguments["x"], finding.question.arguments["grad_output"]
    yours = next(
        (
            o.answer.tensors.get("grad0")
            for o in case.seen.backward
            if o.answer and o.question is finding.question
        ),
        None,
    )
    if yours is not None and yours.shape == x.shape:
        if formulas.reproduces(
            lambda *_: case.exercise.gradient(x, g), [formulas.Probe(x, g, yours)]
        ):
            yield Sight("depends-on-earlier-calls", result, "", evidence)
    elif finding.question.aspect == "shape":
        yield Sight(
            "depends-on-shape", result, f"It fails for: {finding.question.words}.", evidence
        )


def _lost_digits(case: Case) -> bool:
    """Whether float32 numbers on the way explain the digits that are missing."""
    true = case.exercise.gradient
    return formulas.in_float32(case.probes) or any(
        formulas.reproduces(cast, case.probes, 1e-12)
        for cast in (
            lambda x, g: true(x, g.float().double()),
            lambda x, g: true(x.float().double(), g),
        )
    )


def _count(case: Case) -> int:
    return sum(p.x.numel() for p in case.probes)


def _equal(a: object, b: object) -> bool:
    first, second = a.answer, b.answer  # type: ignore[attr-defined]
    if first is None or second is None:
        return True
    ours, theirs = first.tensors.get("grad0"), second.tensors.get("grad0")
    if ours is None or theirs is None:
        return True
    return ours.shape == theirs.shape and torch.allclose(ours, theirs, 1e-12, 1e-12, equal_nan=True)


def _context_behind(case: Case, key: str) -> Iterator[Sight]:
    """The slip in saving that a formula with y for x comes from."""
    syntax = case.syntax
    saves = syntax.calls(syntax.method("forward", "setup_context"), "save_for_backward")
    if key == "output-used-as-input" and len(saves) > 1:
        yield Sight("save-for-backward-called-twice", saves[1])
    elif key == "output-used-as-input":
        yield from _order_of_saved(case)


def _order_of_saved(case: Case) -> Iterator[Sight]:
    """Two saved tensors that backward unpacks under swapped names."""
    syntax = case.syntax
    saves = syntax.calls(syntax.method("forward", "setup_context"), "save_for_backward")
    if len(saves) != 1 or len(saves[0].args) < 2:
        return
    saved = [root(a) for a in saves[0].args]
    for node in own_nodes(syntax.backward):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [root(t) for t in node.targets[0].elts]
            if names != saved and sorted(names) == sorted(saved):
                yield Sight("saved-tensors-order", node)


def _larger_shape(case: Case) -> str | None:
    """Words on a returned gradient that is larger than x, which autograd sums up."""
    for outcome in case.seen.backward[:1]:
        returned = case.returned([outcome], "backward")
        if returned.get("kind") in ("tuple", "list") and returned.get("items"):
            returned = returned["items"][0]
        x = list(outcome.question.arguments["x"].shape)
        shape = returned.get("shape")
        if isinstance(shape, list) and len(shape) > len(x):
            return f"For an x of shape {x} backward returned the shape {shape}."
    return None
