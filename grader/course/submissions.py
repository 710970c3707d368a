"""Autograding: which notebook is graded in place of what a student handed in.

What counts is the student's file. The notebook around it is the release's,
whatever became of the student's.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException
from nbgrader.utils import is_grade, is_solution
from traitlets import Bool

from grader.course.cells import JUDGE
from grader.course.layout import Layout, prepare
from grader.records import Layer
from grader.render.text import quote
from grader.service import GraderError, read_source
from grader.source import Source

#: A larger notebook is not looked into for answers.
_MAX_NOTEBOOK = 16 << 20
#: So much of the student's file is shown: lines, and characters in a line.
_MAX_LINES, _MAX_COLUMNS = 400, 400

_REFUSAL = (
    "Submissions are not graded here, since a layer of isolation is missing (%s). If you "
    "trust them all the same: --SubmissionExporter.trust_submissions=True"
)


class SubmissionExporter(NotebookExporter):
    """Reads submissions for nbgrader's autograde, and shows how far it is.

    In place of a student's notebook comes the release's, with the student's file
    shown above the graded cells. Only answers that nbgrader calls solutions (a
    written question that an instructor added) are taken from the student's.
    """

    trust_submissions = Bool(
        default_value=False,
        help="Grade submissions even where a layer of the isolation is missing on this machine.",
    ).tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._started = time.monotonic()
        self._graded = 0
        if not self.trust_submissions:
            self._demand_isolation()
        self._complete_submissions()

    def _demand_isolation(self) -> None:
        """Refuse to run other people's code where a layer of the isolation is missing."""
        try:
            missing = [f"{layer.name}: {layer.why}" for layer in missing_layers()]
        except GraderError as error:
            missing = [f"the grader itself failed: {error}"]
        if missing:
            self.log.error(_REFUSAL, "; ".join(missing))
            raise NbGraderException(_REFUSAL % "; ".join(missing))

    def _complete_submissions(self) -> None:
        """Complete what was put into place by hand, so that nobody is skipped."""
        layout = Layout(self.parent.coursedir, self.parent.coursedir.assignment_id)
        for student in layout.students():
            prepare(layout, student)
        self.parent.init_notebooks()  # looks again

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **kw: Any
    ) -> Any:
        """Convert the release notebook in place of a submitted one; any other as it is."""
        resources = resources or {}
        about = resources["nbgrader"]
        layout = Layout(self.parent.coursedir, about["assignment"])
        folder, name = Path(filename).parent, Path(filename).name
        if folder == layout.submitted(about["student"]):
            resources["metadata"] = ResourcesDict(name=Path(name).stem, path=str(folder))
            notebook = nbformat.read(layout.release / name, as_version=4)
            _take_answers(notebook, folder / name)
            _show_file(notebook, folder / layout.file)
            return self.from_notebook_node(notebook, resources)
        result = super().from_filename(filename, resources, **kw)
        self._tell_progress(str(layout.submitted(about["student"])))
        return result

    def _tell_progress(self, submission: str) -> None:
        """Write how many submissions are done, those that were graded before among them."""
        total = len(self.parent.assignments)
        if total < 2:
            return
        done = sorted(self.parent.assignments).index(submission) + 1
        self._graded += 1
        left = round((time.monotonic() - self._started) / self._graded * (total - done))
        line = f"{done} of {total} graded, {left // 60}:{left % 60:02} left"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{line:<60}" + ("\n" if done == total else ""))
        elif done in {total, *range(0, total, max(1, total // 20))}:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


def missing_layers() -> list[Layer]:
    """The layers of isolation that are off here, seen on a file that does nothing."""
    return [
        layer for layer in JUDGE.grade(Source("cube.py", b"0\n"), "cube").isolation if not layer.on
    ]


def _take_answers(notebook: NotebookNode, submitted: Path) -> None:
    """Put the student's answers into the cells that are theirs to write."""
    ours = {c.metadata.nbgrader.grade_id: c for c in notebook.cells if is_solution(c)}
    if not ours or not submitted.is_file() or submitted.stat().st_size > _MAX_NOTEBOOK:
        return
    try:
        for cell in json.loads(submitted.read_bytes())["cells"]:
            about = cell["metadata"].get("nbgrader", {})
            if about.get("solution") and about.get("grade_id") in ours:
                ours[about["grade_id"]].source = "".join(cell["source"])
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return  # no notebook any more: the release's cells stand as they are


def _show_file(notebook: NotebookNode, path: Path) -> None:
    """Show the student's file above the first graded cell."""
    source = read_source(path)
    name = path.name
    if source.unreadable:
        text = f"**{name}:** {source.unreadable}"
    else:
        lines = [quote(line[:_MAX_COLUMNS], "utf-8") for line in source.lines[:_MAX_LINES]]
        if len(source.lines) > _MAX_LINES:
            lines.append(f"... and {len(source.lines) - _MAX_LINES} lines more")
        code = "\n".join(lines).rstrip("\n")
        fence = "`" * 3
        while fence in code:
            fence += "`"
        text = f"**{name}** as it was handed in:\n\n{fence}python\n{code}\n{fence}"
    cell = nbformat.v4.new_markdown_cell(text, id="handed-in", metadata={"grader": "submission"})
    graded = next((i for i, c in enumerate(notebook.cells) if is_grade(c)), len(notebook.cells))
    notebook.cells.insert(graded, cell)
