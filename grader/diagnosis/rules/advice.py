"""Habits that the lesson warns about, where every number is right."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from grader.diagnosis.case import Case, Sight


def advice(case: Case) -> Iterator[Sight]:
    """Habits that the lesson warns about, where every number is right."""
    if case.failed or case.seen.load is None:
        return
    seen, syntax, load = case.seen, case.syntax, case.seen.load
    trouble = case.source.advice
    if trouble:
        yield _advice("wrong-encoding", case.source.line(trouble.number), trouble.words)
    if not case.backward_ran_in_helper:
        yield _advice("helper-bypasses-cube", syntax.result_line(syntax.helper))
    yield from _context_advice(case)
    about = load.facts.get("class")
    static = about.get("static", {}) if isinstance(about, dict) else {}
    for name in ("forward", "backward"):
        method = syntax.method(name)
        if isinstance(static, dict) and static.get(name) in ("function", "classmethod") and method:
            yield _advice("missing-staticmethod", method)
            break
    old = syntax.attribute(syntax.cube, "saved_variables")
    if old:
        yield _advice("deprecated-saved_variables", old)
    returned = case.returned(seen.backward, "backward")
    items = returned.get("items")
    if returned.get("kind") == "tuple" and isinstance(items, list) and len(items) > 1:
        yield _advice("trailing-none", syntax.result_line(syntax.backward))
    yield from _second_derivative(case)
    helped = [o.answer for o in seen.helper if o.answer]
    if any(a.facts.get("x_requires_grad") or a.facts.get("x_has_grad") for a in helped):
        yield _advice("touches-the-callers-tensor", syntax.result_line(syntax.helper))
    threads = case.fact(seen.farewell, "threads")
    if threads:
        yield _advice("leaves-thread", syntax.call(syntax.tree, "Thread", "start"))
    if case.left_behind:
        yield _advice(
            "leaves-process",
            syntax.call(syntax.tree, "Popen", "fork", "Process"),
            "it was still alive at the end",
        )


def settings(case: Case) -> Iterator[Sight]:
    """Settings of the whole program that were changed, whether the numbers are right or not."""
    changed = case.fact(case.seen.load, "settings")
    if changed:
        where = case.syntax.call(case.syntax.tree, *_SETTERS)
        yield _advice("global-state", where, " and ".join(changed[:2]))


_SETTERS = (
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_threads",
    "os.chdir",
    "inference_mode",
)


def _advice(key: str, where: object, detail: str = "") -> Sight:
    return Sight(key, where, detail, severity="advice")  # type: ignore[arg-type]


def _context_advice(case: Case) -> Iterator[Sight]:
    kept = case.fact(case.seen.forward[0].answer, "ctx_tensors") if case.seen.forward else []
    changed = case.seen.changed_in_place
    silent = bool(changed and changed.answer and not changed.answer.error and changed.finding)
    attribute = (
        case.syntax.attribute(case.syntax.method("setup_context", "forward"), *kept)
        if kept
        else None
    )
    if kept or silent:
        yield _advice("ctx-attribute-instead-of-save_for_backward", attribute)


def _second_derivative(case: Case) -> Iterator[Sight]:
    syntax, outcome = case.syntax, case.seen.second
    if outcome is None or outcome.answer is None:
        return
    finding, answer = outcome.finding, outcome.answer
    if finding is None or case.seen.gradcheck is None:
        return
    once = syntax.first(
        syntax.cube,
        lambda n: isinstance(n, ast.Name | ast.Attribute) and "once_differentiable" in ast.dump(n),
    )
    if once:
        yield _advice("not-twice-differentiable", once)
        return
    if answer.error:
        return
    intermediate = _saved_intermediate(case)
    detached = syntax.attribute(syntax.backward, "data") or syntax.call(
        syntax.backward, "detach", "numpy", "item", "no_grad", "tolist"
    )
    if detached:
        name = ".data" if isinstance(detached, ast.Attribute) else "a detached tensor"
        yield _advice("detached-backward", detached, name)
    elif intermediate:
        yield _advice(
            "saves-intermediate",
            syntax.call(syntax.method("setup_context", "forward"), "save_for_backward"),
        )


def _saved_intermediate(case: Case) -> bool:
    """Whether a saved tensor is neither the input nor the output."""
    outcome = case.seen.forward[0] if case.seen.forward else None
    if outcome is None or outcome.answer is None:
        return False
    tensors = outcome.answer.tensors
    known = [tensors.get("x"), tensors.get("y")]
    saved = [v for k, v in tensors.items() if k.startswith("saved")]
    return any(
        all(
            k is None or k.shape != s.shape or not torch.equal(k.double(), s.double())
            for k in known
        )
        for s in saved
    )
