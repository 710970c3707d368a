"""The files that a run leaves in its folder, other than the results themselves."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.classroom.record import write
from grader.classroom.summary import Summary
from grader.records import Report
from grader.render import gradescope, html, terminal

#: A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LONGEST = 100


@dataclass(frozen=True)
class Names:
    """What each student is called in reports and on the class page; grades.csv keeps the names."""

    shown: dict[str, str]
    files: dict[str, str]

    @classmethod
    def of(cls, students: Iterable[str], seed: int, *, anonymous: bool) -> Names:
        """Names as they are, or numbers in an order that says nothing."""
        students = list(students)
        if anonymous:
            order = sorted(students, key=lambda s: hashlib.sha256(f"{seed}:{s}".encode()).digest())
            width = len(str(len(students)))
            numbers = {student: f"{i:0{width}}" for i, student in enumerate(order, 1)}
            return cls(numbers, numbers)
        taken: set[str] = set()
        return cls({s: s for s in students}, {s: _file_name(s, taken) for s in students})


def _file_name(student: str, taken: set[str]) -> str:
    """A name that is a plain file name on every system, and nobody else's."""
    plain = re.sub(r"[^\w.@+-]+", "_", student).strip(".")[:_LONGEST] or "_"
    name, count = plain, 1
    while name.casefold() in taken:
        name, count = f"{plain}-{count + 1}", count + 1
    taken.add(name.casefold())
    return name


@dataclass(frozen=True)
class Outputs:
    """Writes what is asked for into `folder`."""

    folder: Path
    names: Names
    anonymous: bool
    gradescope: bool

    def page(self, student: str) -> str:
        """The address of a student's report, seen from class.html."""
        return f"reports/{self.names.files[student]}.html"

    def report(self, student: str, report: Report, *, again: bool = True) -> None:
        """Write one student's report as text and as a page; if not `again`, where there is none."""
        name, shown = self.names.files[student], self.names.shown[student]
        page = self.folder / self.page(student)
        if page.exists() and not again:
            return
        page.parent.mkdir(exist_ok=True)
        if self.anonymous:
            report = replace(report, file=f"{report.exercise}.py")
        text = terminal.render(report, color=False, encoding="utf-8", verbose=False)
        write(page.with_name(f"{name}.txt"), text)
        if self.gradescope:
            place = self.folder / "gradescope" / name / "results.json"
            place.parent.mkdir(parents=True, exist_ok=True)
            write(place, gradescope.render(report))
        write(page, html.report(report, shown))

    def grades(
        self, exercise: str, reports: Iterable[tuple[str, Report]], faults: Mapping[str, str]
    ) -> Summary:
        """Write grades.csv, and return the summary of the same reports."""
        summary = Summary(exercise)
        rows = []
        for student, report in reports:
            row = summary.add(self.names.shown[student], report, self.page(student))
            advice = " ".join(row.advice)
            grade = (f"{row.score:g}", f"{report.max_score:g}", row.verdict, row.mistake, advice)
            rows.append([student, *grade, report.seconds, *row.checks])
        rows += [[s, "", "", "fail", "not-graded", why, ""] for s, why in faults.items()]
        rows.sort(key=lambda row: str(row[0]))
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow([*_COLUMNS, *summary.check_titles])
        table.writerows([cell(value) for value in row] for row in rows)
        write(self.folder / "grades.csv", text.getvalue())
        return summary

    def class_page(self, summary: Summary, unassigned: Iterable[tuple[str, str]]) -> None:
        """Write class.html."""
        hidden = [] if self.anonymous else list(unassigned)
        write(self.folder / "class.html", html.class_page(summary, hidden))

    def numbers(self) -> None:
        """Write who is who, for the teacher's eyes, where numbers stand for names."""
        if self.anonymous:
            rows = sorted((number, student) for student, number in self.names.shown.items())
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(
                [("number", "student"), *((n, cell(s)) for n, s in rows)]
            )
            write(self.folder / "numbers.csv", text.getvalue())


_COLUMNS = ("student", "score", "max_score", "verdict", "mistake", "advice", "seconds")


def cell(value: object) -> str:
    """A value as a spreadsheet may read it: never as a formula."""
    text = str(value)
    return "'" + text if text.startswith(_FORMULA) else text
