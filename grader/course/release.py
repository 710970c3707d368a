"""Generating an assignment: the release notebook gets its cube.py."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from grader import handout


class AddStarter(NbGraderPreprocessor):
    """Put the untouched starter beside the release notebook of the same name."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Add the starter's bytes to the files that are written with the notebook."""
        name = resources["nbgrader"]["notebook"]
        starter = handout.starter(name)
        if starter is not None:
            resources["outputs"] = {**(resources["outputs"] or {}), f"{name}.py": starter}
        return nb, resources
