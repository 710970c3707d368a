"""The notebook's source is clean and right for nbgrader, and it runs without a complaint.

The tests that start a kernel need ``grader.notebook.points``, which the graded cells call.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "notebooks" / "source" / "cube" / "cube.ipynb"
POINTS = {"forward": 2, "cube_grad": 3, "backward": 3, "contract": 2}
SECONDS = 60

# Ways to write the derivative of x³, compared without spaces and markup.
ANSWERS = ("3*x", "x*3", "3x", "3·x", "3*grad", "3*(x", "grad_out*3", "grad_output*3", "x*x*3")


def load_cleaner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("clean", ROOT / "notebooks" / "clean.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def squeezed(text: str) -> str:
    """Text without what may differ between two ways of writing one formula."""
    return re.sub(r"[\s`$\\]", "", text).replace("×", "*")


def source() -> nbformat.NotebookNode:
    return nbformat.read(NOTEBOOK, as_version=4)


def graded(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if "nbgrader" in cell.metadata]


def printed(cell: nbformat.NotebookNode, stream: str = "stdout") -> str:
    return "".join(
        output.text
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == stream
    )


# The source


def test_cleaning_changes_nothing():
    text = NOTEBOOK.read_bytes().decode("utf-8")
    assert load_cleaner().clean(text) == text, "run python notebooks/clean.py"


def test_cleaning_removes_what_a_run_leaves():
    cleaner = load_cleaner()
    text = NOTEBOOK.read_text(encoding="utf-8")
    dirty = json.loads(text)
    dirty["metadata"]["kernelspec"]["display_name"] = ".venv (3.11.7)"
    dirty["metadata"]["language_info"]["version"] = "3.11.7"
    for count, cell in enumerate(dirty["cells"]):
        cell["metadata"] |= {"collapsed": False, "execution": {"iopub.status.busy": "now"}}
        if cell["cell_type"] == "code":
            cell["execution_count"] = count
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["5\n"]}]
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["checksum"] = "0123456789abcdef"
    assert cleaner.clean(json.dumps(dirty)) == text


def test_source_has_no_trace_of_a_run_or_a_machine():
    text = NOTEBOOK.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert text.endswith("}\n")
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert notebook["metadata"]["language_info"] == {"name": "python"}
    for cell in notebook["cells"]:
        assert set(cell["metadata"]) <= {"nbgrader", "jupyter", "alt"}, cell["id"]
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], cell["id"]
            assert cell["execution_count"] is None, cell["id"]


def test_source_is_a_valid_notebook_with_readable_ids():
    notebook = source()
    nbformat.validate(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in ids), ids


def test_every_picture_has_words():
    for cell in source().cells:
        assert ("plt.show()" in cell.source) == bool(cell.metadata.get("alt")), cell.id


def test_graded_cells_are_one_line_each():
    cells = graded(source())
    assert [cell.source for cell in cells] == [f'points("{name}")' for name in POINTS]
    for cell, (name, points) in zip(cells, POINTS.items(), strict=True):
        assert cell.cell_type == "code"
        assert cell.metadata.nbgrader == {
            "cell_type": "code",
            "grade": True,
            "grade_id": name,
            "locked": True,
            "points": points,
            "schema_version": 3,
            "solution": False,
            "task": False,
        }


def test_nbgrader_accepts_the_metadata():
    from nbgrader.nbgraderformat import MetadataValidator

    MetadataValidator().validate_nb(source())


def test_no_lines_of_the_solution():
    starter, solution = (
        (ROOT / folder / "cube.py").read_text(encoding="utf-8").splitlines()
        for folder in ("starter", "solution")
    )
    text = squeezed("\n".join(cell.source for cell in source().cells))
    for line in set(solution) - set(starter):
        assert squeezed(line) not in text


def test_no_answer_in_other_words():
    for cell in source().cells:
        for answer in ANSWERS:
            assert answer not in squeezed(cell.source), (cell.id, answer)


@pytest.mark.parametrize("answer", ["3x²", "`3 * x**2`", "$3x^2$", "grad_out * 3 * x ** 2"])
def test_an_answer_would_be_noticed(answer):
    assert any(known in squeezed(answer) for known in ANSWERS)


# The run: a real kernel, a folder like a student's


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, **replace: str) -> tuple[Any, float]:
    """Run the notebook beside the starter, as on a machine where nothing is cached yet."""
    notebook = source()
    for cell in notebook.cells:
        if cell.id in replace:
            cell.source = replace[cell.id]
    shutil.copy(ROOT / "starter" / "cube.py", folder / "cube.py")
    for variable in ("MPLCONFIGDIR", "IPYTHONDIR"):
        (folder / variable).mkdir()
        monkeypatch.setenv(variable, str(folder / variable))
    search_path = filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(search_path))
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=SECONDS,
        allow_errors=True,  # collected and looked at below, all of them at once
        resources={"metadata": {"path": str(folder)}},
    )
    start = time.monotonic()
    client.execute()
    return notebook, time.monotonic() - start


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield run(tmp_path_factory.mktemp("student"), monkeypatch)


def test_runs_without_errors(executed):
    notebook, _ = executed
    errors = {
        cell.id: output.evalue
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    }
    assert errors == {}


def test_writes_nothing_on_stderr(executed):
    notebook, _ = executed
    complaints = {cell.id: printed(cell, "stderr") for cell in notebook.cells}
    assert {cell: text for cell, text in complaints.items() if text} == {}


def test_takes_less_than_a_minute(executed):
    _, seconds = executed
    assert seconds < SECONDS


def test_graded_cells_end_in_a_plain_float(executed):
    notebook, _ = executed
    for cell in graded(notebook):
        (result,) = (o for o in cell.outputs if o.output_type == "execute_result")
        text = result.data["text/plain"]
        assert re.fullmatch(r"\d+\.\d+", text), text
        assert 0 <= float(text) <= cell.metadata.nbgrader.points
        assert printed(cell), f"{cell.id} prints no report"


def test_teaching_cells_do_not_print_the_answer(executed):
    notebook, _ = executed
    for cell in notebook.cells:
        if "nbgrader" not in cell.metadata:
            text = squeezed(printed(cell))
            assert not any(answer in text for answer in ANSWERS), cell.id


# What the words around a cell promise, and what its output must therefore hold.
SHOWN = {
    "predict-try": ["No number yet"],
    "apply-run": ["PowBackward0", "SquareBackward", "20.0"],
    "gradcheck-run": ["True"],
    "forgetful-run": ["right [30.0, -10.0] forgetful [6.0, -2.0]", "GradcheckError"],
    "contract-apply": ["RuntimeError", "returned tensor([9.]"],
    "contract-save-run": ["returned tensor([60.])", "RuntimeError", "version 1"],
    "contract-count-run": ["(True, False)", "returned (tensor([60.]),)", "expected 2, got 1"],
    "contract-order-run": ["da = 2, db = 7", "GradcheckError"],
    "contract-mode-run": ["grad mode False", "grad mode True", "second derivative 2.0"],
    "contract-float64-run": ["float32: UserWarning", "GradcheckError", "float64: returned True"],
    "why-stability-run": ["inf gradient [nan, nan, nan]", "1002.4076", "LogsumexpBackward0"],
    "why-cross-entropy-run": ["loss nan", "loss 2.4076"],
    "why-memory-run": ["4,000,000 bytes", "400,000 bytes", "ran 2×, same gradient: True"],
    "why-ste-run": ["w = 0.2 after", "w = 2.6 after", "GradcheckError"],
}


@pytest.mark.parametrize("name", SHOWN)
def test_shows_what_its_words_say(executed, name):
    notebook, _ = executed
    (cell,) = (cell for cell in notebook.cells if cell.id == name)
    text = " ".join(printed(cell).split())
    for expected in SHOWN[name]:
        assert expected in text


def test_a_written_prediction_is_answered(tmp_path, monkeypatch):
    by_id = {cell.id: cell.source for cell in source().cells}
    written = by_id["predict-try"].replace("prediction = None", "prediction = 12")
    rest = {name: "" for name in by_id if name not in ("setup", "predict-try")}
    notebook, _ = run(tmp_path, monkeypatch, **rest | {"predict-try": written})
    (cell,) = (cell for cell in notebook.cells if cell.id == "predict-try")
    assert printed(cell).split() == ["you:", "12", "autograd:", "20.0"]
