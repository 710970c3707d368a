"""What the source text says, read from its syntax tree before anything has run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.records import Exercise, Line
from grader.source import Source

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Syntax:
    """Look-ups in one submission's tree; each gives None or nothing where there is no answer."""

    source: Source
    exercise: Exercise

    @cached_property
    def tree(self) -> ast.Module:
        """The whole file, empty where Python can't read it."""
        return self.source.tree or ast.Module([], [])

    @cached_property
    def cube(self) -> ast.ClassDef | None:
        """The class that the exercise's name stands for at the end of the file."""
        name = self.exercise.class_name
        for statement in self.tree.body:
            match statement:
                case ast.Assign(targets, ast.Name(other)) if any(
                    isinstance(t, ast.Name) and t.id == name for t in targets
                ):
                    name = other
        classes = [n for n in ast.walk(self.tree) if isinstance(n, ast.ClassDef)]
        return next((c for c in classes if c.name == name), None)

    def method(self, *names: str) -> Function | None:
        """The class's method of the first of these names that it has, inherited ones included."""
        todo, seen = [self.cube], set()
        while todo:
            owner = todo.pop(0)
            if owner is None or owner.name in seen:
                continue
            seen.add(owner.name)
            for name in names:
                for node in owner.body:
                    if isinstance(node, Function) and node.name == name:
                        return node
            bases = {b.id for b in owner.bases if isinstance(b, ast.Name)}
            todo += [n for n in self.tree.body if isinstance(n, ast.ClassDef) and n.name in bases]
        return None

    @property
    def methods(self) -> list[str]:
        """Names of all that the class defines."""
        return [n.name for n in (self.cube.body if self.cube else []) if isinstance(n, Function)]

    @property
    def forward(self) -> Function | None:
        """The method forward."""
        return self.method("forward")

    @property
    def backward(self) -> Function | None:
        """The method backward, or vjp."""
        return self.method("backward", "vjp")

    @property
    def helper(self) -> Function | None:
        """The last function of the helper's name."""
        found = [
            n
            for n in ast.walk(self.tree)
            if isinstance(n, Function) and n.name == self.exercise.helper_name
        ]
        return found[-1] if found else None

    def line(self, node: ast.AST | None) -> Line | None:
        """The student's line with this node marked."""
        return self.source.line_of(node)

    def result_line(self, function: Function | None) -> ast.AST | None:
        """Where a function's result is computed: its last return, or the line behind its name."""
        if function is None:
            return None
        returns = [n for n in own_nodes(function) if isinstance(n, ast.Return)]
        if not returns:
            return function
        last = max(returns, key=lambda n: n.lineno)
        value = last.value
        if isinstance(value, ast.Name):
            assigned = [
                n
                for n in own_nodes(function)
                if isinstance(n, ast.Assign | ast.AugAssign) and _assigns(n, value.id)
            ]
            if assigned:
                return max(assigned, key=lambda n: n.lineno)
        return last

    def first(self, where: ast.AST | None, test: Callable[[ast.AST], bool]) -> ast.AST | None:
        """The first node below `where`, in the order of the text, that passes `test`."""
        if where is None:
            return None
        found = [n for n in ast.walk(where) if hasattr(n, "lineno") and test(n)]
        return min(found, key=lambda n: (n.lineno, n.col_offset), default=None)  # type: ignore[attr-defined]

    def call(self, where: ast.AST | None, *names: str) -> ast.AST | None:
        """The first call of one of these, by its last name (`backward`) or dotted (`os.kill`)."""
        return self.first(where, lambda n: isinstance(n, ast.Call) and _called(n, names))

    def calls(self, where: ast.AST | None, *names: str) -> list[ast.Call]:
        """All such calls."""
        nodes = ast.walk(where) if where else iter(())
        return [n for n in nodes if isinstance(n, ast.Call) and _called(n, names)]

    def attribute(self, where: ast.AST | None, *names: str) -> ast.AST | None:
        """The first use of an attribute of one of these names."""
        return self.first(where, lambda n: isinstance(n, ast.Attribute) and n.attr in names)

    def in_place(self, where: ast.AST | None, names: set[str]) -> ast.AST | None:
        """The first operation that writes into a tensor bound to one of `names`."""

        def writes(node: ast.AST) -> bool:
            if isinstance(node, ast.AugAssign):
                return root(node.target) in names
            if isinstance(node, ast.Assign):
                return any(isinstance(t, ast.Subscript) and root(t) in names for t in node.targets)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                method = node.func.attr
                out = any(k.arg == "out" for k in node.keywords)
                ends = method.endswith("_") and not method.startswith("__")
                ends = ends and method not in ("requires_grad_", "retain_grad_")
                return (ends and root(node.func.value) in names) or out
            return False

        return self.first(where, writes)

    def parameters(self, function: Function | None) -> list[str]:
        """The names of a function's positional parameters."""
        if function is None:
            return []
        return [a.arg for a in (*function.args.posonlyargs, *function.args.args)]

    def saved_names(self, function: Function | None) -> set[str]:
        """Names that hold what `ctx.saved_tensors` gave, in a function."""
        names: set[str] = set()
        for node in own_nodes(function):
            if isinstance(node, ast.Assign) and _mentions_saved(node.value):
                for target in node.targets:
                    names |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        return names

    def not_unpacked(self, function: Function | None) -> ast.AST | None:
        """Where `ctx.saved_tensors` itself gets a plain name, or is calculated with."""

        def whole(node: ast.AST) -> bool:
            return isinstance(node, ast.Attribute) and node.attr in (
                "saved_tensors",
                "saved_variables",
            )

        def test(node: ast.AST) -> bool:
            if isinstance(node, ast.Assign):
                return whole(node.value) and any(isinstance(t, ast.Name) for t in node.targets)
            if isinstance(node, ast.BinOp):
                return whole(node.left) or whole(node.right)
            return False

        return self.first(function, test)


def own_nodes(function: ast.AST | None) -> Iterator[ast.AST]:
    """All nodes of a function, without those of functions defined in it."""
    todo = list(ast.iter_child_nodes(function)) if function else []
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))


def root(node: ast.AST) -> str:
    """The name at the left end of `a.b[c].d`, or ""."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST) -> str:
    """`a.b.c` as text, or the last names of a longer expression."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _called(node: ast.Call, names: tuple[str, ...]) -> bool:
    name = dotted(node.func)
    return any(name == n or ("." not in n and name.rpartition(".")[2] == n) for n in names)


def _assigns(node: ast.Assign | ast.AugAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(t, ast.Name) and t.id == name for t in targets)


def _mentions_saved(node: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Attribute) and n.attr in ("saved_tensors", "saved_variables")
        for n in ast.walk(node)
    )
