"""Feedback: what a student needs to read, and nothing else."""

from __future__ import annotations

from typing import Any

from nbconvert.utils.base import NbConvertBase
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests
from nbgrader.utils import is_grade
from traitlets import List


class OnlyGraded(ClearHiddenTests):
    """Keep the student's file, graded cells and answers; students have the rest already.

    Of a graded cell that holds hidden tests, only the report is shown.
    """

    # As in nbgrader's GetGrades: the exporter of feedback configures it for all.
    display_data_priority = List(NbConvertBase.display_data_priority.default()).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Drop the cells that teach, and hidden tests from those that grade."""
        nb.cells = [c for c in nb.cells if "nbgrader" in c.metadata or "grader" in c.metadata]
        for cell in nb.cells:
            if is_grade(cell):
                self._remove_hidden_test_region(cell)
        return nb, resources
