"""How far a run is, on stderr: counts, rate, time left."""

from __future__ import annotations

from collections import Counter
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Submissions in a second."""
        return Text(f"{task.speed:.1f}/s" if task.speed else "")


class Progress:
    """A progress bar; without a terminal, one line at the end."""

    def __init__(self, total: int) -> None:
        self._counts: Counter[str] = Counter()
        self._bar = Bar(
            TextColumn("grading"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[counts]}"),
            _Rate(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            refresh_per_second=4,
        )
        self._task = self._bar.add_task("", total=total, counts="")

    def graded(self, verdict: str) -> None:
        """Count one submission."""
        self._counts[verdict] += 1
        counts = f"{self._counts['pass']} passed, {self._counts['fail']} failed"
        faults = f", {self._counts['fault']} not graded" if self._counts["fault"] else ""
        self._bar.update(self._task, advance=1, counts=counts + faults)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
