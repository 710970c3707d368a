"""What only shows in other shapes, layouts and dtypes, or in several calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.diagnosis import errors
from grader.diagnosis.case import Case, Sight
from grader.diagnosis.syntax import root
from grader.questions import Finding


def broken_contract(case: Case) -> Iterator[Sight]:
    """What only shows in other shapes, layouts, dtypes, or in several calls."""
    syntax, seen = case.syntax, case.seen
    if case.findings("backward"):
        return
    findings = case.findings("contract")
    if seen.gradcheck and not findings:
        yield Sight("unnamed", syntax.result_line(syntax.backward), technical=seen.gradcheck)
    if not findings:
        return
    finding = findings[0]
    result = syntax.result_line(syntax.backward)
    aspects = {f.question.aspect for f in findings}
    evidence = case.numbers(finding)
    if finding.kind == "changed":
        key = "mutates-grad-out" if finding.output == "grad_output" else "mutates-saved-tensor"
        yield Sight(key, case.writing_in_backward or result)
        return
    if finding.kind == "error":
        sight = errors.explain(
            case, finding.facts["error"], str(finding.facts["error"].get("stage"))
        )
        if not sight.key.startswith("unnamed"):
            yield sight
            return
    words = f"It fails for: {finding.question.words}."
    if aspects <= {"interleaved", "repeat", "graph"}:
        yield from _shared_state(case, finding, aspects, evidence)
    elif aspects <= {"layout"}:
        yield Sight("assumes-contiguous-grad", result, words, evidence)
    elif aspects <= {"dtype"}:
        yield Sight("depends-on-dtype", result, words, evidence)
    elif aspects <= {"size"}:
        yield Sight("fails-for-large-x", result, words, evidence)
    elif aspects <= {"shape", "layout"}:
        larger = case.returned([o for o in seen.contract if o.finding], "backward").get("shape")
        yield Sight(
            "depends-on-shape",
            result,
            words + (f" There backward returned the shape {larger}." if larger else ""),
            evidence,
        )
    elif finding.kind == "error":
        yield errors.explain(case, finding.facts["error"], str(finding.facts["error"].get("stage")))


def _shared_state(
    case: Case, finding: Finding, aspects: set[str], evidence: str
) -> Iterator[Sight]:
    syntax = case.syntax
    forward = syntax.method("setup_context", "forward")
    if "interleaved" in aspects:
        name = case.exercise.class_name
        context = (syntax.parameters(forward) or ["ctx"])[0]
        stored = syntax.first(
            forward,
            lambda n: (
                isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and root(n) != context
            ),
        )
        container = syntax.first(
            forward, lambda n: isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
        )
        shared = syntax.first(forward, lambda n: isinstance(n, ast.Global))
        appended = syntax.call(forward, "append", "update")
        where = stored or shared or container or appended
        words = f"on the class {name}" if stored and root(stored) == name else "outside ctx"
        yield Sight("state-on-class", where or syntax.result_line(syntax.backward), words, evidence)
    elif "graph" in aspects:
        yield Sight("wrong-in-a-larger-graph", syntax.result_line(syntax.backward), "", evidence)
    else:
        yield Sight("depends-on-earlier-calls", syntax.result_line(syntax.backward), "", evidence)
