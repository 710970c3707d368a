"""From an exception that the student's code raised to the mistake behind it.

Each row of `ROWS` looks at the type and the text of the error; the text is
torch's or Python's, and only a hint of where to look: what is named has to fit
the syntax tree as well wherever the tree can tell.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grader.diagnosis.case import Case, Sight
from grader.diagnosis.syntax import Function

_MODULES = {"torch", "nn", "F", "np", "numpy", "math", "os", "sys", "autograd", "Tensor"}


@dataclass(frozen=True)
class Trouble:
    """One exception: `stage` is where it came up, `function` the student's code there."""

    case: Case
    stage: str
    type: str
    bases: tuple[str, ...]
    text: str
    facts: dict[str, Any]

    @property
    def line(self) -> Any:
        """The innermost line of the student's file that took part."""
        return self.case.error_line(self.facts)

    @property
    def function(self) -> Function | None:
        """The function in which it happened: the innermost of the student's."""
        where = self.facts.get("where")
        if isinstance(where, list) and where and isinstance(where[-1], list):
            names = {"forward": "forward", "backward": "backward", "vjp": "backward"}
            name = str(where[-1][-1])
            if name in names:
                return self.case.function_of(names[name])
            if name == self.case.exercise.helper_name:
                return self.case.syntax.helper
        return self.case.function_of(self.stage)

    def sight(self, key: str, where: Any = None, detail: str = "") -> Sight:
        """A sight at `where`, or else at the line of the error."""
        return Sight(
            key, where or self.line, detail, technical=f"{self.type}: {self.text}".rstrip(": ")
        )


def explain(case: Case, error: dict[str, Any], stage: str) -> Sight:
    """The mistake behind an exception; always something, at worst without a name."""
    bases = error.get("bases")
    trouble = Trouble(
        case,
        stage,
        str(error.get("type")),
        tuple(str(b) for b in bases) if isinstance(bases, list) else (),
        str(error.get("message")),
        error,
    )
    for row in ROWS:
        sight = row(trouble)
        if sight:
            return sight
    at_import = stage == "import"
    return trouble.sight(
        "error-at-import" if at_import else "unnamed-error",
        detail=_a(trouble.type)
        if at_import
        else f"Python stopped in {_place(case, stage)} with {_a(trouble.type)}.",
    )


def _a(name: str) -> str:
    return f"an {name}" if name[:1] in "AEIOU" else f"a {name}"


def _place(case: Case, stage: str) -> str:
    return case.exercise.helper_name if stage == "cube_grad" else stage


def _ending(t: Trouble) -> Sight | None:
    syntax = t.case.syntax
    if "SystemExit" in t.bases:
        return t.sight(
            "early-exit", detail=f"{_where(t)} raised SystemExit, which ends the program"
        )
    if "Exception" not in t.bases:
        return t.sight("base-exception", detail=t.type)
    if t.type == "MemoryError" or "can't allocate memory" in t.text:
        return t.sight(
            "huge-allocation", detail=f"{_where(t)} asked for more memory than there is here"
        )
    if t.type == "RecursionError":
        return t.sight("infinite-recursion", syntax.call(t.function, *_own_names(t.function)))
    if t.type == "EOFError" and any(event == "builtins.input" for event, _ in t.case.events):
        return t.sight("input-at-import", syntax.call(syntax.tree, "input"))
    hostile = any(ord(c) < 32 and c not in "\n\t\r" for c in t.text) or len(t.text) >= 1999
    return t.sight("hostile-exception", detail=_a(t.type)) if hostile else None


def _own_names(function: Function | None) -> tuple[str, ...]:
    return (function.name,) if function else ()


def _where(t: Trouble) -> str:
    place = _place(t.case, t.stage)
    return "The code on the module level" if place == "import" else place


def _imports(t: Trouble) -> Sight | None:
    if "ImportError" not in t.bases:
        return None
    missing = str(t.facts.get("missing") or "")
    name = missing.partition(".")[0]
    if name == t.case.exercise.name:
        return t.sight("imports-itself", detail=f"{name}.py")
    if t.type == "ModuleNotFoundError":
        return t.sight("missing-package", detail=name)
    return None


def _names(t: Trouble) -> Sight | None:
    found = re.search(r"name '(\w+)' is not defined|variable '(\w+)'", t.text)
    if "NameError" not in t.bases or not found:
        return None
    name = found[1] or found[2]
    node = t.case.syntax.first(
        t.function or t.case.syntax.tree, lambda n: isinstance(n, ast.Name) and n.id == name
    )
    node = node if node and t.line and getattr(node, "lineno", 0) == t.line.number else None
    if name == "self" and t.function:
        return t.sight("self-instead-of-ctx", node)
    if name in _MODULES:
        return t.sight("missing-import", node, name)
    return t.sight("unknown-name", node, name)


def _not_implemented(t: Trouble) -> Sight | None:
    if t.type != "NotImplementedError":
        return None
    for method in ("backward", "forward"):
        if f"implement either the {method}" in t.text or f"implement the {method}" in t.text:
            other = near(method, t.case.syntax.methods)
            words = f"The class defines {other or 'no such method'}{' instead' if other else ''}."
            where = t.case.syntax.method(other) if other else t.case.syntax.cube
            return t.sight(f"missing-{method}", where, words)
    xor = t.case.syntax.first(
        t.function, lambda n: isinstance(n, ast.BinOp) and isinstance(n.op, ast.BitXor)
    )
    if xor:
        return t.sight("xor-instead-of-power", xor)
    return t.sight("not-implemented") if "raise" in (t.line.text if t.line else "") else None


def near(name: str, candidates: list[str]) -> str | None:
    """The candidate that looks most like `name`, capitals aside."""
    close = difflib.get_close_matches(name.lower(), [c.lower() for c in candidates], 1, 0.6)
    return next((c for c in candidates if close and c.lower() == close[0]), None)


def _xor(t: Trouble) -> Sight | None:
    if "bitwise_xor" not in t.text and "for ^" not in t.text:
        return None
    xor = t.case.syntax.first(
        t.function, lambda n: isinstance(n, ast.BinOp) and isinstance(n.op, ast.BitXor)
    )
    return t.sight("xor-instead-of-power", xor) if xor else None


def _arguments(t: Trouble) -> Sight | None:
    """A call with another number of arguments than the parameters of forward or backward."""
    syntax, c = t.case.syntax, t.case.exercise.class_name
    if t.type != "TypeError" or not re.search(
        r"positional argument|unexpected keyword|required argument", t.text
    ):
        return None
    direct = syntax.call(syntax.helper, f"{c}.forward")
    if t.stage == "cube_grad" and direct:
        return t.sight("calls-forward-directly", direct)
    if "required argument" in t.text and "setup_context" in syntax.methods:
        return t.sight("mixed-styles", syntax.forward)
    if "forward()" in t.text or "setup_context()" in t.text:
        method, parameters = syntax.forward, syntax.parameters(syntax.forward)
        if "setup_context" in syntax.methods:
            return t.sight("mixed-styles", method)
        if parameters[:1] == ["self"] and len(parameters) > 2:
            return t.sight("missing-staticmethod", method)
        if len(parameters) < 2:
            return t.sight("missing-ctx", method)
        if "missing" in t.text:
            extra = ", ".join(parameters[2:])
            return t.sight("extra-forward-argument", method, f"It also asks for {extra}.")
        return t.sight("extra-forward-argument", method, "The call passes something else.")
    if "backward()" in t.text or "vjp()" in t.text:
        method = syntax.backward
        if "takes" in t.text and len(syntax.parameters(method)) < 2:
            return t.sight("missing-grad-out-parameter", method)
        return t.sight("extra-parameter", method)
    return None


def _tuples(t: Trouble) -> Sight | None:
    """saved_tensors used as if it were the tensor."""
    syntax = t.case.syntax
    node = syntax.not_unpacked(syntax.backward)
    telling = (
        "'tuple'",
        "single element can be converted to an index",
        "non-int of type",
        "not tuple",
        "iterable of",
    )
    if "not callable" in t.text and syntax.call(syntax.backward, "saved_tensors"):
        return t.sight("saved-tensors-called", syntax.call(syntax.backward, "saved_tensors"))
    if t.type in ("TypeError", "AttributeError") and node and any(w in t.text for w in telling):
        return t.sight("saved-tensors-not-unpacked", node)
    return None


def _saving(t: Trouble) -> Sight | None:
    syntax = t.case.syntax
    if "save_for_backward can only save" in t.text:
        return t.sight("saves-non-tensor", syntax.call(syntax.tree, "save_for_backward"))
    counts = re.search(r"unpack \(expected (\d+)(?:, got (\d+))?\)", t.text)
    index = t.type == "IndexError" and "tuple index" in t.text
    if not counts and not index:
        return None
    saves = syntax.calls(syntax.cube, "save_for_backward")
    unpacked = syntax.attribute(syntax.backward, "saved_tensors", "saved_variables")
    if unpacked is None:
        return None
    if not saves:
        return t.sight("nothing-saved")
    got = counts[2] if counts else None
    if got == "0":
        return t.sight("nothing-saved")
    words = (
        f"backward unpacks {counts[1]}, but {got or 'more'} came back."
        if counts
        else "backward takes an element that was not saved."
    )
    return t.sight("saved-tensors-count-mismatch", None, words)


def _attributes(t: Trouble) -> Sight | None:
    syntax, exercise = t.case.syntax, t.case.exercise
    on_class = re.search(r"type object '(\w+)' has no attribute '(\w+)'", t.text)
    if on_class:
        return t.sight(
            "unknown-name", syntax.attribute(t.function, on_class[2]), ".".join(on_class.groups())
        )
    found = re.search(r"'(\w+)' object has no attribute '(\w+)'", t.text)
    if t.type != "AttributeError" or not found:
        return None
    owner, name = found[1], found[2]
    if owner in ("Tensor", "Parameter") and name in (
        "save_for_backward",
        "saved_tensors",
        "needs_input_grad",
    ):
        return t.sight("parameters-swapped", t.function)
    if owner == "NoneType" and name in ("save_for_backward", "saved_tensors"):
        direct = syntax.call(
            syntax.helper, f"{exercise.class_name}.forward", f"{exercise.class_name}.backward"
        )
        return t.sight("calls-forward-directly", direct) if direct else None
    if owner == exercise.class_name and t.stage == "cube_grad":
        return t.sight("instance-call", syntax.call(syntax.helper, exercise.class_name))
    if (
        owner.endswith(("Backward", "BackwardCFunction"))
        or owner == t.case.exercise.class_name + "Backward"
    ):
        return t.sight("missing-ctx-attribute", t.case.syntax.attribute(t.function, name), name)
    if owner in ("ndarray", "float64", "float32"):
        return t.sight("leaves-torch-for-numpy")
    return None


def _texts(t: Trouble) -> Sight | None:
    """Errors of torch that have a text of their own."""
    syntax, helper = t.case.syntax, t.case.syntax.helper
    c, text = t.case.exercise.class_name, t.text
    got = re.search(r"expected (\d+), got (\d+)", text)
    kind = re.search(r"expected Variable or None \(got ([\w.]+)\)", text)
    if kind:
        where = syntax.result_line(syntax.backward)
        return t.sight("returns-list", where, f"a value of the type {kind[1]}")
    if "incorrect number of gradients" in text and got:
        words = f"Yours returns {got[2]}."
        return t.sight("wrong-number-of-gradients", syntax.result_line(syntax.backward), words)
    shape = re.search(
        r"invalid gradient at index 0 - got (\[[\d, ]*\]) but expected shape.* (\[[\d, ]*\])", text
    )
    if shape:
        where = syntax.result_line(syntax.backward)
        words = f"For an x of shape {shape[2]} backward returned the shape {shape[1]}."
        key = "sum-instead-of-elementwise" if _is_the_sum(t) else "wrong-shape"
        return t.sight(key, where, words)
    if "Legacy autograd function" in text or "is not callable" in text or "'apply'" in text:
        instance = syntax.first(
            helper,
            lambda n: isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == c,
        )
        static = all(
            any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in m.decorator_list)
            for m in (syntax.forward, syntax.backward)
            if m
        )
        if instance and static:
            return t.sight("instance-call", instance)
        if "Legacy" in text and not static:
            return t.sight("missing-staticmethod", syntax.forward)
    if "does not require grad" in text or "not have been used in the graph" in text:
        return _no_graph(t)
    if "can be implicitly created only for scalar outputs" in text:
        return t.sight("backward-on-vector")
    if "backward through the graph a second time" in text:
        return t.sight("backward-twice", next(iter(syntax.calls(helper, "backward")[1:]), None))
    if "leaf Variable that requires grad" in text and "in-place" in text:
        return t.sight("mutates-input", _in_place(t, syntax.forward))
    if "refers to a single memory location" in text:
        return t.sight("mutates-grad-out", _in_place(t, syntax.backward))
    if "modified by an inplace operation" in text:
        return t.sight("mutates-input", _in_place(t, syntax.forward) or t.line)
    if "setStorage" in text or "view size is not compatible" in text or "as_strided" in text:
        return t.sight("assumes-contiguous-grad")
    if "floating point" in text and "require gradients" in text:
        return t.sight("integer-cast", None, "Here that happens before the graph is recorded.")
    if "setup_context staticmethod" in text:
        return t.sight("func-grad-needs-setup_context")
    if "numpy() on Tensor" in text or "np.ndarray" in text or "numpy" in t.type:
        return t.sight("leaves-torch-for-numpy")
    return None


def _is_the_sum(t: Trouble) -> bool:
    """Whether the one number that backward returned is the sum of the right gradient."""
    for outcome in t.case.seen.backward:
        value = t.case.returned([outcome], "backward").get("one")
        x, g = outcome.question.x["grad0"], outcome.question.grad_output["grad0"]
        if isinstance(value, float) and x.numel() > 1:
            total = float(t.case.exercise.gradient(x, g).sum())
            return abs(value - total) <= 1e-9 * (1 + abs(total))
    return False


def _in_place(t: Trouble, function: Function | None) -> ast.AST | None:
    names = {n for n in t.case.syntax.parameters(function) if n not in ("ctx", "self", "cls")}
    return t.case.syntax.in_place(function, names)


def _no_graph(t: Trouble) -> Sight | None:
    """Why the loss has no graph: what the helper does, in the order of likelihood."""
    syntax, helper = t.case.syntax, t.case.syntax.helper
    if "grad mode" in t.case.fact(t.case.seen.load, "settings"):
        return t.sight(
            "grad-mode-off", syntax.call(syntax.tree, "set_grad_enabled", "inference_mode")
        )
    if t.stage != "cube_grad":
        return t.sight("constant-output", syntax.result_line(syntax.forward))
    copied = syntax.call(
        helper, "torch.tensor", "torch.Tensor", "torch.as_tensor", "torch.FloatTensor"
    )
    cut = syntax.call(helper, "no_grad", "inference_mode", "item", "tolist", "numpy")
    data = syntax.attribute(helper, "data")
    set_anywhere = syntax.call(helper, "requires_grad_") or syntax.attribute(
        helper, "requires_grad"
    )
    keyword = syntax.first(
        helper, lambda n: isinstance(n, ast.keyword) and n.arg == "requires_grad"
    )
    if copied and (set_anywhere or not keyword):
        return t.sight("graph-broken-by-torch-tensor", copied)
    if not set_anywhere and not keyword:
        return t.sight("no-requires-grad", syntax.call(helper, "apply"))
    if cut or data:
        return t.sight(
            "graph-cut",
            cut or data,
            "Here the result becomes plain numbers or is recorded nowhere.",
        )
    detached = [d for d in syntax.calls(helper, "detach") if _after(d, set_anywhere)]
    if detached:
        return t.sight("graph-cut", detached[0], "detach() gives a tensor without a history.")
    return None


def _after(node: ast.AST, other: ast.AST | None) -> bool:
    return other is not None and getattr(node, "lineno", 0) > getattr(other, "lineno", 0)


ROWS: tuple[Callable[[Trouble], Sight | None], ...] = (
    _ending,
    _imports,
    _names,
    _arguments,
    _not_implemented,
    _xor,
    _tuples,
    _saving,
    _attributes,
    _texts,
)
