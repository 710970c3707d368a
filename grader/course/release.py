"""Generating an assignment: the release notebook gets its cube.py."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from grader.course.layout import STARTERS


class AddStarter(NbGraderPreprocessor):
    """Put the starter beside the release notebook of the same name; git holds one copy of it."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Add the starter's bytes to the files that are written with the notebook."""
        starter = STARTERS / f"{resources['nbgrader']['notebook']}.py"
        resources["outputs"] = {**(resources["outputs"] or {}), starter.name: starter.read_bytes()}
        return nb, resources
