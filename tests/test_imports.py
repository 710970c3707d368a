"""Imports point one way: each module imports from its own room and those below."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "grader"

#: Room by room, the rooms that it may import from, besides itself.
ALLOWED = {
    "records": set(),
    "source": {"records"},
    "exercises": {"records"},
    "student": {"records"},
    "questions": {"records", "student"},
    "gradcheck": {"student"},
    "checks": {"records", "student", "questions", "gradcheck"},
    "diagnosis": {"records", "source", "questions", "checks"},
    "curve": {"records", "source", "student", "checks"},
    "memory": set(),
    "hints": {"records", "memory"},
    "handout": {"source"},
    "render": {"records", "source", "hints"},
    "judge": {"records", "source", "exercises", "student", "checks", "diagnosis", "curve"},
    "service": {"records", "source", "exercises", "checks", "judge"},
    "grader": {"records", "service"},
    "doctor": {"records", "source", "service", "handout"},
    "watch": {"records", "source", "service", "render", "hints", "memory", "handout"},
    "classroom": {
        *("records", "source", "student", "checks", "diagnosis", "render", "judge", "service"),
    },
    "fresh": {"records", "source", "service"},
    "notebook": {"records", "source", "render", "service", "fresh"},
    "course": {
        *("records", "source", "exercises", "checks", "render", "service"),
        *("handout", "fresh", "notebook"),
    },
}
#: What stands before all rooms: it may import from any, and none imports it.
DOOR = {"cli", "commands", "__main__"}


ROOMS = {path.stem for path in PACKAGE.iterdir()}


def room(name: str) -> str:
    """Return the room of a name: ``grader.render.json`` is in ``render``."""
    inner = name.split(".")[1:2]
    return inner[0] if inner and inner[0] in ROOMS else "grader"


def imports(path: Path) -> set[str]:
    """Return the rooms of grader that a file imports from, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= set(names) if node.module == "grader" else {str(node.module)}
    return {room(name) for name in found if name.split(".")[0] == "grader"}


MODULES = {
    str(path.relative_to(PACKAGE)): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.relative_to(PACKAGE).with_suffix("").parts[0] not in DOOR
}


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_a_module_imports_only_from_below(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    here = "grader" if parts == ("__init__",) else parts[0]
    above = imports(path) - {here}
    assert here in ALLOWED, f"{here}: a new room needs a line in ALLOWED"
    assert above <= ALLOWED[here], f"{here} must not import from {above - ALLOWED[here]}"


def test_the_table_has_no_circle():
    below = {name: set(rooms) for name, rooms in ALLOWED.items()}
    while free := {name for name, rooms in below.items() if not rooms}:
        below = {name: rooms - free for name, rooms in below.items() if name not in free}
    assert not below
