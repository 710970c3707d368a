"""Feedback: what a student needs to read, and nothing else."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor


class OnlyGraded(NbGraderPreprocessor):
    """Keep the student's file, the graded cells and answers; students have the rest already."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Drop the cells that teach."""
        nb.cells = [c for c in nb.cells if "nbgrader" in c.metadata or "grader" in c.metadata]
        return nb, resources
