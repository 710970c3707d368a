"""What a graded notebook cell calls: `points("forward")`.

The file beside the notebook is graded in processes of their own, which stay
warm from cell to cell; the kernel never imports it.
"""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from pathlib import Path

from grader.fresh import FreshJudge
from grader.records import CheckResult, Report
from grader.render import terminal
from grader.service import GraderError, read_source
from grader.source import Source

#: The notebook's folder, wherever its later cells go.
_FOLDER = Path.cwd()


@dataclass
class Gradebook:
    """The last report on each file, and which cell shows it whole."""

    judge: FreshJudge

    def __post_init__(self) -> None:
        self._known: dict[str, tuple[Source, Report, str]] = {}

    def cell(self, source: Source, name: str) -> tuple[str, float]:
        """Return what the cell of check `name` prints, and its value.

        The first cell that asks about a version of a file shows the whole report,
        again whenever it is run; the others show their own check.

        Raises:
            GraderError: the grader itself is at fault.
        """
        exercise = Path(source.name).stem
        known = self._known.get(source.name)
        if known is None or known[0] != source:
            known = (source, self.judge.grade(source, exercise), name)
            self._known[source.name] = known
        _, report, first = known
        check = next((c for c in report.checks if c.name == name), None)
        if check is None:
            names = ", ".join(c.name for c in report.checks)
            return f"There is no check {name!r}; there are: {names}\n", 0.0
        text = whole(report) if name == first else own(check, report, first)
        return text, float(min(max(check.points, 0.0), check.max_points))


def whole(report: Report) -> str:
    """The report as `make grade` prints it."""
    return terminal.render(report, color=False, encoding="utf-8", verbose=False)


def own(check: CheckResult, report: Report, first: str) -> str:
    """One check of the report, and where the rest of it is."""
    word = {"pass": "pass", "fail": "FAIL", "skipped": "skipped"}[check.status]
    lines = [f"{word}  {check.points:g} of {check.max_points:g}  {check.title}"]
    if check.status != "pass":
        lines.append(f"      {check.message}")
        main = next((d for d in report.diagnoses if d.severity == "error"), None)
        if main:
            lines.append(f"      {main.title}")
        lines.append(f'      The whole report is under points("{first}").')
    return "\n".join(lines) + "\n"


_gradebook = Gradebook(FreshJudge())
atexit.register(_gradebook.judge.close)


def points(name: str, file: str = "cube.py") -> float:
    """Grade `file` beside the notebook, print the report, return the points of one check.

    The file is graded anew whenever it has changed; there is no need to restart
    the kernel.
    """
    try:
        found = read_source(_FOLDER / file)
        source = Source(file, found.data, size=found.size, unreadable=found.unreadable)
        text, value = _gradebook.cell(source, name)
    except GraderError as error:
        text, value = f"The grader itself failed, not your code: {error}\n", 0.0
    print(text, end="")  # noqa: T201
    return value
