"""Exporting: nbgrader's table of grades, and one with a column for each check."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import CsvExportPlugin

from grader.course.layout import Layout
from grader.notebook import REPORT


class CheckExporter(CsvExportPlugin):
    """Writes grades.csv as nbgrader does, and grades-checks.csv beside it.

    The second has a column for each graded cell, with the points that count
    (a teacher may have changed them), whether the file loads, and the key of
    its main mistake.
    """

    def export(self, gradebook: Gradebook) -> None:
        """Write both tables."""
        super().export(gradebook)
        path = Path(self.to or "grades.csv")
        rows = [row for a in gradebook.assignments for row in self._rows(gradebook, a)]
        columns = dict.fromkeys(column for row in rows for column in row)
        ordered = sorted(columns, key=lambda column: column == "mistake")  # comes last
        with path.with_stem(path.stem + "-checks").open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, ordered, restval="")
            table.writeheader()
            table.writerows(rows)

    def _rows(self, gradebook: Gradebook, assignment: Any) -> list[dict[str, Any]]:
        layout = Layout(self.parent.coursedir, assignment.name)
        rows = []
        for student in gradebook.students:
            if self.assignment and assignment.name not in map(str, self.assignment):
                continue
            if self.student and student.id not in map(str, self.student):
                continue
            row = {"assignment": assignment.name, "student_id": student.id}
            row |= {"score": 0.0, "max_score": assignment.max_score}
            try:
                submission = gradebook.find_submission(assignment.name, student.id)
            except MissingEntry:
                rows.append(row | {"mistake": "nothing-handed-in"})
                continue
            penalty = submission.late_submission_penalty
            row["score"] = max(0.0, submission.score - penalty)
            report = _report(layout.autograded(student.id) / REPORT)
            row["load"] = next((c["status"] for c in report.get("checks", [])), "")
            for notebook in submission.notebooks:
                row |= {grade.name: grade.score for grade in notebook.grades}
            errors = [d["mistake"] for d in report.get("diagnoses", []) if d["severity"] == "error"]
            rows.append(row | {"mistake": next(iter(errors), "")})
        return rows


def _report(path: Path) -> dict[str, Any]:
    """The report that grading left; nothing where a notebook of another kind was graded."""
    if not path.is_file():
        return {}
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report
