"""What a student's process may use, and how it can end."""

from __future__ import annotations

from dataclasses import dataclass

CPU_SECONDS = 10
WALL_SECONDS = 30
MEMORY_BYTES = 1 << 30
FILE_BYTES = 16 << 20
FILES = 256
PROCESSES = 64
OUTPUT_KEPT = 1 << 20
OUTPUT_TAKEN = 64 << 20
EVENTS_TAKEN = 1 << 20


@dataclass(frozen=True)
class Status:
    """How a student's process ended, as the one that looked after it saw it.

    ``why`` is "closed" (we ended it), "exit", "signal", "cpu", "wall", "memory",
    "processes", "lost" (the one that looked after it ended first), or "refused"
    (by the system, for the reason in ``namespaces``).
    """

    why: str
    code: int = 0
    left_behind: int = 0
    namespaces: str = ""
