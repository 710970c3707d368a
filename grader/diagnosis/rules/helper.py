"""The helper, `cube_grad(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from grader.checks import kind_words
from grader.diagnosis import errors, formulas
from grader.diagnosis.case import Case, Sight
from grader.diagnosis.rules.forward import dtype_kept
from grader.diagnosis.syntax import own_nodes, root
from grader.questions import Finding, excess


def wrong_helper(case: Case) -> Iterator[Sight]:
    """cube_grad(x)."""
    seen, syntax, exercise = case.seen, case.syntax, case.exercise
    findings = case.findings("helper")
    broken = bool(case.findings("backward"))
    if not findings:
        return
    finding = findings[0]
    helper = syntax.helper
    result = syntax.result_line(helper)
    about = finding.facts.get("about", {})
    if finding.kind == "error":
        error = finding.facts["error"]
        first = next(iter(case.findings("backward")), None)
        same = (
            first
            and first.facts.get("error")
            and first.facts["error"].get("message") == error.get("message")
        )
        if not same:
            yield errors.explain(case, error, "cube_grad")
    elif finding.kind == "missing":
        if not (
            broken
            and about.get("kind") == "none"
            and case.returned(seen.backward, "backward").get("kind") == "none"
        ):
            yield from _no_gradient(case, finding, result)
    elif finding.kind == "shape":
        x = finding.question.expected[finding.output]
        name = exercise.helper_name
        words = f"For an x of shape {list(x.shape)} {name} returned the shape {about.get('shape')}."
        one, inputs = about.get("one"), finding.question.arguments["x"]
        loss = float(exercise.function(inputs).sum())
        if isinstance(one, float) and abs(one - loss) <= 1e-9 * (1 + abs(loss)):
            yield Sight("returns-value", result)
        elif isinstance(one, float) and abs(one - float(x.sum())) <= 1e-9 * (1 + abs(one)):
            yield Sight("sum-instead-of-elementwise", result, words)
        else:
            yield Sight("wrong-shape", result, words)
    elif finding.kind == "dtype":
        if not broken:
            yield from dtype_kept(finding, result)
    elif finding.kind == "changed":
        if not broken:
            yield Sight(
                "mutates-input", syntax.in_place(helper, set(syntax.parameters(helper))) or result
            )
    elif not broken:
        yield from _wrong_numbers(case, finding, result)


def goes_round(case: Case) -> Iterator[Sight]:
    """The helper is right although Cube.backward is wrong."""
    seen, syntax = case.seen, case.syntax
    if not case.findings("backward") or not seen.helper or case.findings("helper"):
        return
    plain = seen.ones.finding if seen.ones else None
    if plain is None or plain.kind != "value":
        return  # for ones, which .sum() passes on, backward is right by itself
    name = case.exercise.class_name
    answer = case.seen.helper[0].answer
    returned = answer.facts.get("returned", {}) if answer else {}
    direct = syntax.call(syntax.helper, f"{name}.forward")
    if isinstance(returned, dict) and "backward" in returned:
        yield Sight("compensates-in-helper", syntax.result_line(syntax.helper))
    elif direct:
        yield Sight("calls-forward-directly", direct)
    else:
        yield Sight("helper-bypasses-cube", syntax.result_line(syntax.helper))


def _no_gradient(case: Case, finding: Finding, result: ast.AST | None) -> Iterator[Sight]:
    """The helper returned something else than a tensor."""
    syntax, about = case.syntax, finding.facts.get("about", {})
    helper, kind = syntax.helper, about.get("kind")
    items = about.get("items")
    first = items[0] if isinstance(items, list) and items else {}
    if kind in ("tuple", "list") and first.get("kind") == "tensor":
        yield Sight("returns-tuple", result)
        return
    if kind != "none":
        yield Sight("returns-other-type", result, kind_words(about))
        return
    returns = [n for n in own_nodes(helper) if isinstance(n, ast.Return) and n.value is not None]
    if not returns:
        yield Sight("helper-returns-none", helper)
    elif _keeps_the_result_of_backward(result):
        yield Sight("returns-backward-result", result)
    elif "not a leaf Tensor" in case.output or _goes_on_after_requires_grad(case):
        yield Sight("grad-of-non-leaf", result)
    elif on_output := _sets_requires_grad_late(case):
        yield Sight("requires-grad-on-output", on_output)
    elif cut := syntax.call(helper, "torch.tensor", "item", "detach_", "tolist", "numpy"):
        yield Sight("graph-broken-by-torch-tensor", cut)
    elif _reads_parameters_grad(case):
        yield Sight("grad-of-original", result)
    else:
        yield Sight("helper-returns-none", result)


def _keeps_the_result_of_backward(node: ast.AST | None) -> bool:
    match node:
        case ast.Return(ast.Call(ast.Attribute(attr="backward"))):
            return True
        case ast.Assign(value=ast.Call(ast.Attribute(attr="backward"))):
            return True
    return False


def _goes_on_after_requires_grad(case: Case) -> bool:
    """Whether an operation follows on requires_grad_() in one expression: then it is no leaf."""
    calls = case.syntax.calls(case.syntax.helper, "requires_grad_")
    inner = {id(call) for call in calls}
    return any(
        isinstance(n, ast.Attribute) and id(n.value) in inner for n in own_nodes(case.syntax.helper)
    )


def _reads_parameters_grad(case: Case) -> bool:
    """Whether the helper reads .grad of its own parameter, which it never rebinds."""
    helper = case.syntax.helper
    name = next(iter(case.syntax.parameters(helper)), "")
    reads = any(
        isinstance(n, ast.Attribute) and n.attr == "grad" and root(n) == name
        for n in own_nodes(helper)
    )
    rebinds = any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for n in own_nodes(helper)
    )
    return reads and not rebinds


def _sets_requires_grad_late(case: Case) -> ast.AST | None:
    """A requires_grad that is set after Cube.apply has run."""
    syntax, helper = case.syntax, case.syntax.helper
    apply = syntax.call(helper, "apply")
    setting = syntax.first(
        helper,
        lambda n: (
            (
                isinstance(n, ast.Attribute)
                and n.attr == "requires_grad"
                and isinstance(n.ctx, ast.Store)
            )
            or (
                isinstance(n, ast.Call)
                and isinstance(n.func, ast.Attribute)
                and n.func.attr == "requires_grad_"
            )
        ),
    )
    if apply and setting and getattr(setting, "lineno", 0) >= getattr(apply, "lineno", 0):
        return setting
    return None


def _wrong_numbers(case: Case, finding: Finding, result: ast.AST | None) -> Iterator[Sight]:
    """Numbers that differ although Cube is right: the first explanation that holds."""
    for explain in (_of_another_call, _of_all_numbers, _of_one_aspect):
        found = explain(case, finding)
        if found:
            key, where, detail = found
            yield Sight(key, where or result, detail, case.numbers(finding))
            return


#: A mistake's key, the place where that is not the helper's result, and the words on it.
_Found = tuple[str, ast.AST | None, str]


def _of_another_call(case: Case, finding: Finding) -> _Found | None:
    """What an earlier call has to do with this one."""
    first, yours = case.seen.helper[0], _tensor_of(case, finding)
    if yours is None or first.finding is not None:
        return None
    true = finding.question.expected[finding.output]
    if "twice" in finding.question.words:
        if not (excess(yours, 2 * true) > 1).any():
            where = case.syntax.call(case.syntax.helper, "backward")
            return (
                "accumulates-gradient",
                where,
                "The second call with the same x gave twice the first.",
            )
        return "depends-on-earlier-calls", None, ""
    earlier = first.question.expected["grad0"]
    if yours.shape == earlier.shape and not (excess(yours, earlier) > 1).any():
        return "stale-cache", None, ""
    return None


def _of_all_numbers(case: Case, finding: Finding) -> _Found | None:
    """A relation to the right gradient that holds at every number tried."""
    exercise, syntax, probes = case.exercise, case.syntax, case.helper_probes
    helper, true = syntax.helper, exercise.gradient
    if not probes or formulas.reproduces(true, probes):
        return None
    if all(torch.isnan(p.yours).all() for p in probes):
        return "poisons-reference", None, ""
    if formulas.reproduces(lambda x, g: exercise.function(x), probes):
        return "returns-value", None, ""
    if formulas.reproduces(lambda x, g: true(x, g) / max(x.numel(), 1), probes):
        return "mean-instead-of-sum", syntax.call(helper, "mean"), ""
    passes = syntax.calls(helper, "backward")
    if len(passes) > 1 and formulas.reproduces(lambda x, g: len(passes) * true(x, g), probes):
        return "accumulates-gradient", passes[1], f"Here {len(passes)} passes run."
    if formulas.reproduces(true, probes, 1e-4) and formulas.in_float32(probes):
        return "float32-cast", None, f"{exercise.helper_name} is right to about seven digits only."
    if not case.backward_ran_in_helper:
        return "helper-bypasses-cube", None, ""
    scale = _scale(case)
    if scale:
        return "helper-scaled", None, formulas.number(scale)
    row = formulas.known(exercise.formulas, probes)
    fitted = row.computes.removeprefix("grad_output · ") if row else formulas.fit(probes, true)
    return ("fitted-formula", None, _follows(case, str(fitted))) if fitted else None


def _scale(case: Case) -> float | None:
    """By which number the right gradient is multiplied everywhere, if by one."""
    true = case.exercise.gradient
    first = case.helper_probes[0]
    at = int(true(first.x, first.grad_output).abs().argmax())
    scale = float(first.yours.flatten()[at] / true(first.x, first.grad_output).flatten()[at])
    same = formulas.reproduces(lambda x, g: scale * true(x, g), case.helper_probes)
    return scale if same else None


def _of_one_aspect(case: Case, finding: Finding) -> _Found | None:
    """Ordinary numbers are right; what is different about these."""
    key = {
        "layout": "assumes-contiguous-grad",
        "shape": "depends-on-shape",
        "dtype": "depends-on-dtype",
    }.get(finding.question.aspect)
    words = f"{case.exercise.helper_name} fails for: {finding.question.words}."
    return (key, None, words) if key else None


def _follows(case: Case, formula: str) -> str:
    names = case.exercise
    return (
        f"At every number tried, {names.helper_name} gives {formula}, "
        f"although {names.class_name} is right."
    )


def _tensor_of(case: Case, finding: Finding) -> torch.Tensor | None:
    """The student's tensor behind a finding of the helper."""
    for outcome in case.seen.helper:
        if outcome.question is finding.question and outcome.answer:
            return outcome.answer.tensors.get(finding.output)
    return None
