"""What the kit remembers of a file between two runs, in a small file that git ignores."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

#: In the current folder, which is the kit's when its commands are used as documented.
STATE = Path(".grader") / "memory.json"


@dataclass
class Memory:
    """What is remembered of one submission."""

    #: The mistake whose ladder of hints is being climbed, and the rungs seen so far.
    mistake: str = ""
    rungs: int = 0
    #: Whether the solution was asked for once already without a pass.
    asked_to_give_up: bool = False


def recall(path: Path) -> Memory:
    """Return what is remembered of the file at `path`; nothing when nothing can be read."""
    try:
        return Memory(**_all()[_key(path)])
    except (KeyError, TypeError):
        return Memory()


def remember(path: Path, memory: Memory) -> None:
    """Write `memory` down for the file at `path`.

    Raises:
        OSError: the current folder can't be written.
    """
    memories = _all() | {_key(path): asdict(memory)}
    STATE.parent.mkdir(exist_ok=True)
    STATE.write_text(json.dumps(memories, indent=2) + "\n", encoding="utf-8")


def asked_before(path: Path) -> bool:
    """Whether the solution was asked for before without a pass; from now on it was."""
    memory = recall(path)
    before, memory.asked_to_give_up = memory.asked_to_give_up, True
    remember(path, memory)
    return before


def _all() -> dict[str, dict[str, Any]]:
    try:
        memories = json.loads(STATE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return memories if isinstance(memories, dict) else {}


def _key(path: Path) -> str:
    return str(path.resolve())
