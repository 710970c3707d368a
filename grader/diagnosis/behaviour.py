"""From what the student's code did, without an exception, to the mistake behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from grader.checks import ending_words, kind_words
from grader.diagnosis import errors, formulas
from grader.diagnosis.case import Case, Sight
from grader.diagnosis.syntax import own_nodes, root
from grader.questions import Finding, excess

_ENDINGS = {
    "cpu": "infinite-loop",
    "wall": "infinite-loop",
    "memory": "huge-allocation",
    "output": "output-flood",
    "processes": "leaves-process",
    "exit": "early-exit",
    "signal": "crash",
    "lost": "kills-parent",
}


# The file


def unreadable(case: Case) -> Iterator[Sight]:
    """Python can't read the file."""
    trouble = case.source.trouble
    if trouble:
        line = case.source.line(trouble.number, trouble.column, trouble.column + 1)
        yield Sight(trouble.mistake, line, trouble.words)


def not_loaded(case: Case) -> Iterator[Sight]:
    """The import ended badly, or a name is missing."""
    load, exercise, syntax = case.seen.load, case.exercise, case.syntax
    if load is None:
        return
    if load.error:
        yield errors.explain(case, load.error, "import")
        return
    about, helper = load.facts.get("class"), load.facts.get("helper")
    if not isinstance(about, dict) or not isinstance(helper, dict):
        return
    if not about.get("defined"):
        others = [n for n in case.fact(load, "functions") if n != exercise.class_name]
        yield _missing(case, exercise.class_name, others)
    elif not about.get("is_class"):
        words = kind_words(about.get("value", {}))
        words = "a function" if "method" in words else words
        assigned = syntax.first(
            syntax.tree,
            lambda n: isinstance(n, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == exercise.class_name for t in n.targets),
        )
        yield Sight("cube-is-not-a-class", assigned, words)
    elif not about.get("is_function"):
        bases = [b for b in about.get("bases", []) if isinstance(b, str) and b != "object"]
        yield Sight("not-a-function-subclass", syntax.cube, bases[0] if bases else "nothing")
    if not helper.get("defined"):
        yield _missing(case, exercise.helper_name, [])
    elif not helper.get("callable"):
        yield Sight("wrong-name", None, f"{exercise.helper_name} as a value, not a function")


def _missing(case: Case, name: str, others: list[str]) -> Sight:
    """A name that is missing, with the near name that was found instead, if there is one."""
    defined = [
        n for n in ast.walk(case.syntax.tree) if isinstance(n, ast.ClassDef | ast.FunctionDef)
    ]
    outer = [n for n in case.syntax.tree.body if n in defined]
    wanted = ast.ClassDef if name == case.exercise.class_name else ast.FunctionDef
    names = [n.name for n in outer if isinstance(n, wanted)]
    near = next(iter(others), None) or errors._near(name, names)
    node = next((n for n in defined if n.name == (near or name)), None)
    if near and near != name:
        return Sight("wrong-name", node, near)
    return Sight("missing-name", node, name)


# How it ended


def ended(case: Case) -> Iterator[Sight]:
    """The code ended its process, or had to be ended."""
    seen = case.seen
    endings = [seen.ended] if seen.ended else []
    for check in ("forward", "backward", "contract", "helper"):
        endings += [o.ended for o in getattr(seen, check) if o.ended]
    for ending in endings[:1]:
        key = _ENDINGS.get(ending.why)
        if key is None:
            continue
        stage = {"load": "the import", "helper": case.exercise.helper_name, "farewell": "an exit hook"}
        place = stage.get(ending.stage, ending.stage)
        words = ending_words(ending, place)
        words = words[0].upper() + words[1:] if ending.stage == "load" else words
        if key == "early-exit" and _writes_a_verdict(case):
            key = "fake-report"
        yield Sight(key, _ending_line(case, key, ending.stage), words)


def _ending_line(case: Case, key: str, stage: str) -> ast.AST | None:
    syntax = case.syntax
    function = case.function_of({"helper": "cube_grad"}.get(stage, stage)) or syntax.tree
    if key == "infinite-loop":
        loops = [n for n in own_nodes(function) if isinstance(n, ast.While)]
        endless = [n for n in loops if isinstance(n.test, ast.Constant)]
        return next(iter(endless + loops), None)
    if key in ("early-exit", "fake-report"):
        return syntax.call(syntax.tree, "os._exit", "sys.exit", "exit", "quit", "os.abort")
    if key == "kills-parent":
        return syntax.call(syntax.tree, "os.kill", "os.killpg", "kill")
    if key == "leaves-process":
        return syntax.call(syntax.tree, "os.fork", "Popen", "run", "os.system", "Process")
    return None


# Conduct: what a file does that no exercise needs


def conduct(case: Case) -> Iterator[Sight]:
    """Behaviour that a teacher wants to know of; only where the file fails anyway."""
    if not case.failed:
        return
    syntax, tree = case.syntax, case.syntax.tree
    patched = case.fact(case.seen.load, "patched")
    if patched:
        more = f" and {len(patched) - 1} more" if len(patched) > 1 else ""
        name = patched[0].rpartition(".")[2]
        node = syntax.first(tree, lambda n: isinstance(n, ast.Attribute) and n.attr == name)
        yield Sight("patches-checker", node, patched[0] + more)
    events = dict(reversed(case.events))
    for key, names, calls in (
        ("steals-reference", ("pathlib.Path.glob", "pathlib.Path.rglob", "glob.glob"), ("glob", "rglob")),
        ("detects-checker", ("sys._getframe",), ("sys._getframe", "stack", "currentframe")),
        ("kills-parent", ("os.kill", "os.killpg"), ("os.kill", "os.killpg")),
        ("deletes-files", ("os.remove", "os.rename", "os.rmdir", "shutil.rmtree"), ("unlink", "remove", "rmtree", "rename", "rmdir")),
        ("opens-socket", ("socket.bind", "socket.connect", "socket.getaddrinfo"), ("bind", "connect", "create_connection", "urlopen")),
        ("leaves-process", ("os.fork", "subprocess.Popen", "os.system", "os.posix_spawn"), ("os.fork", "Popen", "run", "os.system")),
    ):  # fmt: skip
        seen = next((name for name in names if name in events), None)
        if key == "steals-reference" and seen and not _looks_for_answers(events[seen]):
            seen = None
        if seen:
            yield Sight(key, syntax.call(tree, *calls), f"{seen} {events[seen]}".strip()[:120])
        elif key == "kills-parent" and (node := syntax.call(tree, "os.kill", "os.killpg")):
            yield Sight(key, node, "os.kill")
    opened = [d for event, d in case.events if event == "open"]
    reads = [d for d in opened if d.startswith("read")]
    if reads:
        yield Sight("steals-reference", syntax.call(tree, "open", "read_text", "read_bytes"), reads[0])
    elif opened:
        yield Sight("writes-files", syntax.call(tree, "open", "write_text", "write_bytes"), opened[0])
    if _writes_a_verdict(case):
        yield Sight("fake-report", syntax.call(tree, "print", "write", "write_text"))


def _looks_for_answers(pattern: str) -> bool:
    return any(word in pattern for word in ("solution", "reference", "answer", "grader", "expected"))


def _writes_a_verdict(case: Case) -> bool:
    """Whether something that the file prints or writes looks like a grader's result."""
    words = ('"passed"', '"score"', '"verdict"', "'verdict'")
    if any(word in case.output for word in words):
        return True
    constants = [
        n.value for n in ast.walk(case.syntax.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    names = ("results.json", "report.json", "result.json", "verdict.json", "gradebook.db")
    return any(c in names for c in constants) or {"passed", "verdict", "score"} <= set(constants)


def pretends(case: Case) -> Iterator[Sight]:
    """Objects that are no plain tensors come back, of a class that the file defines."""
    for check in ("forward", "backward", "helper"):
        for finding in case.findings(check)[:1]:
            about = finding.facts.get("about", {})
            function = {"forward": case.syntax.forward, "backward": case.syntax.backward}
            where = case.syntax.result_line(function.get(check, case.syntax.helper))
            if finding.kind == "subclass":
                yield Sight("lying-tensor", where, str(about.get("type")))
            elif about.get("kind") == "other" and about.get("module") == case.exercise.name:
                yield Sight("lying-object", where, str(about.get("type")))


# forward


def wrong_forward(case: Case) -> Iterator[Sight]:
    """The value of Cube.apply(x)."""
    syntax, seen = case.syntax, case.seen
    for finding in case.findings("forward")[:1]:
        result = syntax.result_line(syntax.forward)
        about = finding.facts.get("about", {})
        returned = case.returned(seen.forward, "forward")
        if finding.kind == "error":
            yield errors.explain(case, finding.facts["error"], str(finding.facts["error"].get("stage")))
        elif finding.output == "x":
            names = set(syntax.parameters(syntax.forward)) - {"ctx"}
            yield Sight("mutates-input", syntax.in_place(syntax.forward, names) or result)
        elif finding.kind == "builtin":
            yield Sight("result-not-from-cube", syntax.cube)
        elif finding.kind == "missing":
            yield Sight("forward-not-a-tensor", result, kind_words(about if about else returned))
        elif finding.kind == "shape":
            shape, x = about.get("shape"), list(finding.question.x["y"].shape)
            words = f"For an x of shape {x} forward returned the shape {shape}."
            one, total = about.get("one"), float(finding.question.expected["y"].sum())
            is_sum = isinstance(one, float) and abs(one - total) <= 1e-9 * (1 + abs(total))
            yield Sight("sum-instead-of-elementwise" if is_sum else "wrong-forward", result, words)
        elif finding.kind == "dtype":
            yield from _dtype(case, finding, result)
        elif finding.worst:
            yield _wrong_value(case, finding, result)


def _dtype(case: Case, finding: Finding, where: ast.AST | None) -> Iterator[Sight]:
    got, went_in = finding.facts["about"].get("dtype"), finding.question.expected[finding.output].dtype
    words = f"{str(went_in)[6:]} went in, {got} came out."
    key = {"float32": "float32-cast"}.get(str(got), "wrong-dtype")
    key = "integer-cast" if str(got).startswith(("int", "uint", "bool")) else key
    yield Sight(key, where, words)


def _wrong_value(case: Case, finding: Finding, where: ast.AST | None) -> Sight:
    worst = finding.worst
    assert worst is not None
    x, yours = _finite(case.seen.forward)
    names = {
        "x²": x**2, "3x": 3 * x, "x": x, "3x²": 3 * x**2, "x⁴": x**4, "2x³": 2 * x**3,
        "|x|³": x.abs() ** 3, "x³/3": x**3 / 3, "-x³": -(x**3), "x⁶": x**6, "x⁹": x**9, "3": 0 * x + 3, "x³ + 3": x**3 + 3, "x + 3": x + 3, "3ˣ": 3**x,
    }  # fmt: skip
    name = next((n for n, v in names.items() if x.numel() and torch.allclose(v, yours, 1e-9, 1e-9)), None)
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


# backward


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
    about = finding.facts.get("about", {})
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
            words = "returns None on this line" if has_return else "computes something and ends without return"
            yield Sight("returns-none", result, words)
        elif returned.get("kind") != "tensor":
            yield Sight("returns-list", result, kind_words(returned))
    elif changed or _written_to(case):
        where = _in_place_in_backward(case)
        which = changed.output if changed else "grad_output"
        yield Sight("mutates-grad-out" if which == "grad_output" else "mutates-saved-tensor", where or result)
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


def _in_place_in_backward(case: Case) -> ast.AST | None:
    function = case.syntax.backward
    names = set(case.syntax.parameters(function)[1:]) | case.syntax.saved_names(function)
    return case.syntax.in_place(function, names)


def _wrong_numbers(case: Case, finding: Finding, result: ast.AST | None) -> Iterator[Sight]:
    """Numbers that differ: why, if anything explains all of them."""
    syntax, seen, exercise = case.syntax, case.seen, case.exercise
    probes = case.probes
    returned = case.returned(seen.backward, "backward")
    evidence = _evidence(case, finding)
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
        key = "non-deterministic" if syntax.call(syntax.tree, "rand", "randn", "rand_like", "randn_like", "random", "bernoulli", "dropout", "randint", "uniform", "time") else "depends-on-earlier-calls"
        yield Sight(key, result, "", evidence)
        return
    true = exercise.gradient
    if probes and all(torch.allclose(p.yours, true(p.x, p.grad_output), 1e-4, 1e-4) for p in probes):
        if _lost_digits(case) or returned.get("dtype") == "float32":
            yield Sight("float32-cast", result, "The gradient is right to about seven digits only.", evidence)
        else:
            yield Sight("inexact-gradient", result, "", evidence)
        return
    fitted = formulas.fit(probes, true) if probes else None
    if fitted:
        words = f"At every number tried, backward computes {fitted}. The chain rule asks for grad_output times {exercise.derivative}."
        yield Sight("fitted-formula", result, words, evidence)
        return


def _only_later(
    case: Case, finding: Finding, result: ast.AST | None, evidence: str
) -> Iterator[Sight]:
    """The first answer was right: what was different about this one."""
    first = case.seen.backward[0].question
    x, g = first.arguments["x"], finding.question.arguments["grad_output"]
    yours = next(
        (o.answer.tensors.get("grad0") for o in case.seen.backward if o.answer and o.question is finding.question),
        None,
    )
    if yours is not None and yours.shape == x.shape:
        if formulas.reproduces(lambda *_: case.exercise.gradient(x, g), [formulas.Probe(x, g, yours)]):
            yield Sight("depends-on-earlier-calls", result, "", evidence)
    elif finding.question.aspect == "shape":
        yield Sight("depends-on-shape", result, f"It fails for: {finding.question.words}.", evidence)


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


def _evidence(case: Case, finding: Finding) -> str:
    worst = finding.worst
    if worst is None:
        return ""
    ratio = f" (ratio {worst.ratio:.4g})" if worst.ratio is not None else ""
    upstream = f" and grad_output = {worst.grad_output:.4g}" if worst.grad_output is not None else ""
    return (
        f"At x = {worst.x:.4g}{upstream} yours is {worst.yours:.6g}; "
        f"expected {worst.expected:.6g}{ratio}."
    )


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


# The contract


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
    evidence = _evidence(case, finding)
    if finding.kind == "changed":
        key = "mutates-grad-out" if finding.output == "grad_output" else "mutates-saved-tensor"
        yield Sight(key, _in_place_in_backward(case) or result)
        return
    if finding.kind == "error":
        sight = errors.explain(case, finding.facts["error"], str(finding.facts["error"].get("stage")))
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
        yield Sight("depends-on-shape", result, words + (f" There backward returned the shape {larger}." if larger else ""), evidence)
    elif finding.kind == "error":
        yield errors.explain(case, finding.facts["error"], str(finding.facts["error"].get("stage")))


def _shared_state(case: Case, finding: Finding, aspects: set[str], evidence: str) -> Iterator[Sight]:
    syntax = case.syntax
    forward = syntax.method("setup_context", "forward")
    if "interleaved" in aspects:
        name = case.exercise.class_name
        context = (syntax.parameters(forward) or ["ctx"])[0]
        stored = syntax.first(
            forward,
            lambda n: isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and root(n) != context,
        )
        container = syntax.first(forward, lambda n: isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        shared = syntax.first(forward, lambda n: isinstance(n, ast.Global))
        appended = syntax.call(forward, "append", "update")
        where = stored or shared or container or appended
        words = f"on the class {name}" if stored and root(stored) == name else "outside ctx"
        yield Sight("state-on-class", where or syntax.result_line(syntax.backward), words, evidence)
    elif "graph" in aspects:
        yield Sight("wrong-in-a-larger-graph", syntax.result_line(syntax.backward), "", evidence)
    else:
        yield Sight("depends-on-earlier-calls", syntax.result_line(syntax.backward), "", evidence)


# The helper


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
    evidence = _evidence(case, finding)
    if finding.kind == "error":
        error = finding.facts["error"]
        first = next(iter(case.findings("backward")), None)
        same = first and first.facts.get("error") and first.facts["error"].get("message") == error.get("message")
        if not same:
            yield errors.explain(case, error, "cube_grad")
    elif finding.kind == "missing":
        if not (broken and about.get("kind") == "none" and case.returned(seen.backward, "backward").get("kind") == "none"):
            yield from _no_gradient(case, finding, result)
    elif finding.kind == "shape":
        x = finding.question.expected[finding.output]
        words = f"For an x of shape {list(x.shape)} {exercise.helper_name} returned the shape {about.get('shape')}."
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
            yield from _dtype(case, finding, result)
    elif finding.kind == "changed":
        if not broken:
            yield Sight("mutates-input", syntax.in_place(helper, set(syntax.parameters(helper))) or result)
    elif not broken:
        yield from _wrong_helper_numbers(case, finding, result, evidence)


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
    backward = syntax.call(helper, "backward")
    names_backward = isinstance(result, ast.Return | ast.Assign) and isinstance(result.value, ast.Call) and root(result.value.func) == "" or (
        isinstance(result, ast.Return | ast.Assign) and isinstance(result.value, ast.Call) and isinstance(result.value.func, ast.Attribute) and result.value.func.attr == "backward"
    )
    if not returns:
        yield Sight("helper-returns-none", helper)
    elif names_backward and backward:
        yield Sight("returns-backward-result", result)
    elif "not a leaf Tensor" in case.output:
        yield Sight("grad-of-non-leaf", result)
    else:
        on_output = _sets_requires_grad_late(case)
        if on_output:
            yield Sight("requires-grad-on-output", on_output)
        elif cut := syntax.call(helper, "torch.tensor", "item", "detach_", "tolist", "numpy"):
            yield Sight("graph-broken-by-torch-tensor", cut)
        elif _reads_parameters_grad(case):
            yield Sight("grad-of-original", result)
        else:
            yield Sight("helper-returns-none", result)


def _reads_parameters_grad(case: Case) -> bool:
    """Whether the helper reads .grad of its own parameter, which it never rebinds."""
    helper = case.syntax.helper
    name = next(iter(case.syntax.parameters(helper)), "")
    reads = any(
        isinstance(n, ast.Attribute) and n.attr == "grad" and root(n) == name for n in own_nodes(helper)
    )
    rebinds = any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in own_nodes(helper)
    )
    return reads and not rebinds


def _sets_requires_grad_late(case: Case) -> ast.AST | None:
    """A requires_grad that is set after Cube.apply has run."""
    syntax, helper = case.syntax, case.syntax.helper
    apply = syntax.call(helper, "apply")
    setting = syntax.first(
        helper,
        lambda n: (isinstance(n, ast.Attribute) and n.attr == "requires_grad" and isinstance(n.ctx, ast.Store))
        or (isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "requires_grad_"),
    )
    if apply and setting and getattr(setting, "lineno", 0) >= getattr(apply, "lineno", 0):
        return setting
    return None


def _wrong_helper_numbers(
    case: Case, finding: Finding, result: ast.AST | None, evidence: str
) -> Iterator[Sight]:
    syntax, exercise = case.syntax, case.exercise
    helper, probes = syntax.helper, case.helper_probes
    first = case.seen.helper[0]
    bypass = not _ran_backward(case)
    if finding.question.aspect == "values" and first.finding is None and "twice" not in finding.question.words:
        earlier = first.question.expected["grad0"]
        yours = finding_tensor(case, finding)
        if yours is not None and yours.shape == earlier.shape and not (excess(yours, earlier) > 1).any():
            yield Sight("stale-cache", result, "", evidence)
            return
    if "twice" in finding.question.words:
        yield Sight("accumulates-gradient", syntax.call(helper, "backward") or result, "The second call with the same x gave more than the first.", evidence)
        return
    if probes and all(torch.isnan(p.yours).all() for p in probes if p.yours.numel()):
        yield Sight("poisons-reference", result, "", evidence)
        return
    if probes:
        true = [exercise.gradient(p.x, p.grad_output) for p in probes]
        if formulas.reproduces(lambda x, g: exercise.function(x), probes):
            yield Sight("returns-value", result, "", evidence)
            return
        if formulas.reproduces(lambda x, g: exercise.gradient(x, g) / max(x.numel(), 1), probes):
            yield Sight("mean-instead-of-sum", syntax.call(helper, "mean") or result, "", evidence)
            return
        backward_calls = syntax.calls(helper, "backward")
        if len(backward_calls) > 1 and formulas.reproduces(lambda x, g: len(backward_calls) * exercise.gradient(x, g), probes):
            yield Sight("accumulates-gradient", backward_calls[1], f"Here {len(backward_calls)} passes run.", evidence)
            return
        row = formulas.known(exercise.formulas, probes)
        fitted = formulas.fit(probes, exercise.gradient)
        if all(torch.allclose(p.yours, t, 1e-4, 1e-4) for p, t in zip(probes, true, strict=True)) and formulas.in_float32(probes):
            yield Sight("float32-cast", result, f"{exercise.helper_name} is right to about seven digits only.", evidence)
            return
        if fitted and fitted.p == 2 and not fitted.absolute and not fitted.added and not bypass:
            scale = fitted.c / 3 if exercise.name == "cube" else fitted.c / 2
            yield Sight("helper-scaled", result, formulas.number(scale), evidence)
            return
        if bypass:
            yield Sight("helper-bypasses-cube", result, "", evidence)
            return
        if row:
            yield Sight("fitted-formula", result, f"At every number tried, {exercise.helper_name} gives {row.computes.replace('grad_output · ', '')}, although {exercise.class_name} is right.", evidence)
            return
        if fitted:
            yield Sight("fitted-formula", result, f"At every number tried, {exercise.helper_name} gives {fitted}, although {exercise.class_name} is right.", evidence)
            return
    if finding.question.aspect in ("layout", "shape", "dtype"):
        key = {"layout": "assumes-contiguous-grad", "shape": "depends-on-shape", "dtype": "depends-on-dtype"}[finding.question.aspect]
        yield Sight(key, result, f"{exercise.helper_name} fails for: {finding.question.words}.", evidence)


def finding_tensor(case: Case, finding: Finding) -> torch.Tensor | None:
    """The student's tensor behind a finding of the helper."""
    for outcome in case.seen.helper:
        if outcome.question is finding.question and outcome.answer:
            return outcome.answer.tensors.get(finding.output)
    return None


def _ran_backward(case: Case) -> bool:
    """Whether Cube.backward ran in the helper; True where that can't be seen."""
    answer = case.seen.helper[0].answer if case.seen.helper else None
    watchable = case.returned(case.seen.backward, "backward")
    if answer is None or not watchable:
        return True
    returned = answer.facts.get("returned")
    return isinstance(returned, dict) and "backward" in returned


# Advice


def advice(case: Case) -> Iterator[Sight]:
    """Habits that the lesson warns about, where every number is right."""
    if case.failed or case.seen.load is None:
        return
    seen, syntax, load = case.seen, case.syntax, case.seen.load
    trouble = case.source.advice
    if trouble:
        yield _advice("wrong-encoding", case.source.line(trouble.number), trouble.words)
    if not _ran_backward(case):
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
        yield _advice("leaves-process", syntax.call(syntax.tree, "Popen", "fork", "Process"), "it was still alive at the end")


def settings(case: Case) -> Iterator[Sight]:
    """Settings of the whole program that were changed, whether the numbers are right or not."""
    changed = case.fact(case.seen.load, "settings")
    if changed:
        where = case.syntax.call(case.syntax.tree, *_SETTERS)
        yield _advice("global-state", where, " and ".join(changed[:2]))


_SETTERS = ("set_default_dtype", "set_grad_enabled", "set_num_threads", "os.chdir", "inference_mode")


def _advice(key: str, where: object, detail: str = "") -> Sight:
    return Sight(key, where, detail, severity="advice")  # type: ignore[arg-type]


def _context_advice(case: Case) -> Iterator[Sight]:
    kept = case.fact(case.seen.forward[0].answer, "ctx_tensors") if case.seen.forward else []
    changed = case.seen.changed_in_place
    silent = bool(changed and changed.answer and not changed.answer.error and changed.finding)
    attribute = case.syntax.attribute(case.syntax.method("setup_context", "forward"), *kept) if kept else None
    if kept or silent:
        yield _advice("ctx-attribute-instead-of-save_for_backward", attribute)


def _second_derivative(case: Case) -> Iterator[Sight]:
    syntax, outcome = case.syntax, case.seen.second
    if outcome is None or outcome.answer is None:
        return
    finding, answer = outcome.finding, outcome.answer
    if finding is None or case.seen.gradcheck is None:
        return
    once = syntax.first(syntax.cube, lambda n: isinstance(n, ast.Name | ast.Attribute) and "once_differentiable" in ast.dump(n))
    if once:
        yield _advice("not-twice-differentiable", once)
        return
    if answer.error:
        return
    intermediate = _saved_intermediate(case)
    detached = syntax.attribute(syntax.backward, "data") or syntax.call(syntax.backward, "detach", "numpy", "item", "no_grad", "tolist")
    if detached:
        name = ".data" if isinstance(detached, ast.Attribute) else "a detached tensor"
        yield _advice("detached-backward", detached, name)
    elif intermediate:
        yield _advice("saves-intermediate", syntax.call(syntax.method("setup_context", "forward"), "save_for_backward"))


def _saved_intermediate(case: Case) -> bool:
    """Whether a saved tensor is neither the input nor the output."""
    outcome = case.seen.forward[0] if case.seen.forward else None
    if outcome is None or outcome.answer is None:
        return False
    tensors = outcome.answer.tensors
    known = [tensors.get("x"), tensors.get("y")]
    saved = [v for k, v in tensors.items() if k.startswith("saved")]
    return any(
        all(k is None or k.shape != s.shape or not torch.equal(k.double(), s.double()) for k in known)
        for s in saved
    )
