"""The file can't be read or loaded, or its process came to an end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.checks import ending_words, kind_words
from grader.diagnosis import errors
from grader.diagnosis.case import Case, Sight
from grader.diagnosis.syntax import own_nodes

#: From how a process ended to the mistake.
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
            lambda n: (
                isinstance(n, ast.Assign)
                and any(isinstance(t, ast.Name) and t.id == exercise.class_name for t in n.targets)
            ),
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
    near = next(iter(others), None) or errors.near(name, names)
    node = next((n for n in defined if n.name == (near or name)), None)
    if near and near != name:
        return Sight("wrong-name", node, near)
    return Sight("missing-name", node, name)


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
        stage = {
            "load": "the import",
            "helper": case.exercise.helper_name,
            "farewell": "an exit hook",
        }
        place = stage.get(ending.stage, ending.stage)
        words = ending_words(ending, place)
        words = words[0].upper() + words[1:] if ending.stage == "load" else words
        if key == "early-exit" and case.writes_a_verdict:
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
