"""What a file does that no exercise needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.diagnosis.case import Case, Sight


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
    for act in _ACTS:
        seen = next((name for name in act.events if name in events), None)
        if act.key == "steals-reference" and seen and not _looks_for_answers(events[seen]):
            continue
        if seen:
            # Of a process only that it was started: its arguments may be long.
            words = seen if act.key == "leaves-process" else f"{seen} {events[seen]}"[:120]
            yield Sight(act.key, syntax.call(tree, *act.calls), words.strip())
    killing = syntax.call(tree, "os.kill", "os.killpg")
    if killing:  # it may hold back where it is process 1, as it is here
        yield Sight("kills-parent", killing, "os.kill")
    opened = [d for event, d in case.events if event == "open"]
    reads = [d for d in opened if d.startswith("read")]
    if reads:
        where = syntax.call(tree, "open", "read_text", "read_bytes")
        yield Sight("steals-reference", where, reads[0])
    elif opened:
        where = syntax.call(tree, "open", "write_text", "write_bytes")
        yield Sight("writes-files", where, opened[0])
    if case.writes_a_verdict:
        yield Sight("fake-report", syntax.call(tree, "print", "write", "write_text"))


@dataclass(frozen=True)
class _Act:
    """A mistake by the audit events that show it, and the calls that may stand in the source."""

    key: str
    events: tuple[str, ...]
    calls: tuple[str, ...]


_ACTS = (
    _Act(
        "steals-reference",
        ("pathlib.Path.glob", "pathlib.Path.rglob", "glob.glob"),
        ("glob", "rglob"),
    ),
    _Act("detects-checker", ("sys._getframe",), ("sys._getframe", "stack", "currentframe")),
    _Act("kills-parent", ("os.kill", "os.killpg"), ("os.kill", "os.killpg")),
    _Act(
        "deletes-files",
        ("os.remove", "os.rename", "os.rmdir", "shutil.rmtree"),
        ("unlink", "remove", "rmtree", "rename", "rmdir"),
    ),
    _Act(
        "opens-socket",
        ("socket.bind", "socket.connect", "socket.getaddrinfo"),
        ("bind", "connect", "create_connection", "urlopen"),
    ),
    _Act(
        "leaves-process",
        ("os.fork", "subprocess.Popen", "os.system", "os.posix_spawn"),
        ("os.fork", "Popen", "run", "os.system"),
    ),
)


def _looks_for_answers(pattern: str) -> bool:
    return any(
        word in pattern for word in ("solution", "reference", "answer", "grader", "expected")
    )


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
