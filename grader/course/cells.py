"""Autograding: where the values of a notebook's graded cells come from."""

from __future__ import annotations

import ast
import atexit
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import Execute
from nbgrader.utils import is_grade, is_solution
from traitlets import Bool, Integer, List, Unicode

from grader.fresh import FreshJudge
from grader.notebook import Reports

#: One judge for all submissions of a run, or of a formgrader's life.
JUDGE = FreshJudge()
atexit.register(JUDGE.close)


class GradeCells(Execute):
    """Fills the graded cells: in place of nbgrader's Execute, which it still can do.

    A graded cell says `points("forward")`; its output is what that call prints
    and returns, without a kernel: the grader is asked directly.
    """

    kernel = Bool(
        default_value=False,
        help="Run the whole notebook in a kernel, as nbgrader does without this class.",
    ).tag(config=True)

    timeout = Integer(120, help="Seconds for one cell, above the grader's own limits.").tag(
        config=True
    )

    extra_arguments = List(
        Unicode(),
        ["--IPKernelApp.ignore_cwd=True"],
        help="Arguments for the kernel; the default keeps it from importing a student's torch.py.",
    ).tag(config=True)

    def __call__(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Preprocess even when disabled: a graded cell without output would earn full points."""
        return self.preprocess(nb, resources)

    def preprocess(
        self, nb: NotebookNode, resources: Any = None, km: Any = None
    ) -> tuple[NotebookNode, Any]:
        """Give each graded cell its output."""
        if self.kernel:
            result: tuple[NotebookNode, Any] = super().preprocess(nb, resources, km)
            return result
        reports = Reports(JUDGE, Path(resources["metadata"]["path"]))
        cells = [c for c in nb.cells if c.cell_type == "code" and is_grade(c)]
        for count, cell in enumerate((c for c in cells if not is_solution(c)), start=1):
            name, file = asked(cell.source)
            text, value = reports.cell(name, file)
            reports.write(file)
            cell.execution_count = count
            cell.outputs = [
                nbformat.v4.new_output("stream", name="stdout", text=text),
                nbformat.v4.new_output(
                    "execute_result", {"text/plain": repr(value)}, execution_count=count
                ),
            ]
        return nb, resources


def asked(source: str) -> tuple[str, str]:
    """Return the check and the file that a graded cell asks for.

    Raises:
        ValueError: the cell says anything else than one `points(...)`.
    """
    match ast.parse(source).body:
        case [ast.Expr(ast.Call(ast.Name("points"), [ast.Constant(str(name))], keywords))]:
            named = {k.arg: k.value for k in keywords}
            match named.pop("file", ast.Constant("cube.py")):
                case ast.Constant(str(file)) if not named:
                    return name, file
    message = f'without a kernel, a graded cell says points("...") and nothing else, not: {source}'
    raise ValueError(message)
