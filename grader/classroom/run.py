"""One run over a class: grade what isn't recorded yet, then write everything down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader.classroom.crew import Grader, Task
from grader.classroom.outputs import Names, Outputs
from grader.classroom.record import Record
from grader.classroom.submissions import Found
from grader.classroom.summary import Summary
from grader.render import junit
from grader.service import GraderError


@dataclass
class Run:
    """A run over `found`; `graded` is called after each report with its verdict."""

    found: Found
    record: Record
    anonymous: bool = False
    gradescope: bool = False
    junit: Path | None = None
    faults: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        students = [s.student for s in self.found.submissions]
        names = Names.of(students, self.record.seed, anonymous=self.anonymous)
        self.outputs = Outputs(self.record.folder, names, self.anonymous, self.gradescope)

    def grade(self, grader: Grader, graded: Callable[[str], None]) -> None:
        """Grade all that isn't recorded."""
        for task, report in grader.grade(self._tasks(graded)):
            if isinstance(report, GraderError):
                self.faults[task.student] = str(report)
                graded("fault")
                continue
            self.record.add(task.student, task.source, report)
            self.outputs.report(task.student, report)
            graded(report.verdict)

    def _tasks(self, graded: Callable[[str], None]) -> Iterator[Task]:
        for submission in self.found.submissions:
            student, source = submission.student, submission.read()
            if self.record.has(student, source):
                report = self.record.report(student)
                self.outputs.report(student, report, again=False)
                graded(report.verdict)
            else:
                yield Task(student, source, self.record.exercise, self.record.seed_of(student))

    def finish(self) -> Summary:
        """Put the results in order and write what is made of all of them."""
        done = [s.student for s in self.found.submissions if s.student not in self.faults]
        self.record.finish(done)
        summary = self.outputs.grades(
            self.record.exercise, ((s, self.record.report(s)) for s in done), self.faults
        )
        self.outputs.class_page(summary, self.found.unassigned)
        self.outputs.numbers()
        if self.junit:
            shown = self.outputs.names.shown
            reports = ((shown[s], self.record.report(s)) for s in done)
            self.junit.write_text(junit.render_class(reports), encoding="utf-8")
        return summary
