"""What would go wrong in a course, looked for before it does."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps.baseapp import NbGrader
from nbgrader.utils import is_grade, is_solution
from traitlets.utils.importstring import import_item

from grader import handout
from grader.checks import CHECKS, public_name
from grader.course import cells, collect, export, lms, release, submissions
from grader.course.layout import TIMESTAMP, Layout
from grader.exercises import EXERCISES

#: Each option that makes a course this kit's, and the class that must be in it.
_OPTIONS = {
    ("GenerateAssignment", "preprocessors"): release.AddStarter,
    ("ExchangeFactory", "collect"): collect.Collect,
    ("ZipCollectApp", "extractor_plugin"): lms.LmsExtractor,
    ("ZipCollectApp", "collector_plugin"): lms.LmsCollector,
    ("Autograde", "exporter_class"): submissions.SubmissionExporter,
    ("Autograde", "autograde_preprocessors"): cells.GradeCells,
    ("ExportApp", "plugin_class"): export.CheckExporter,
}


def application(course: Path) -> Any:
    """An nbgrader application that has read the configuration of `course`, as its commands do."""
    app = NbGrader()
    with contextlib.chdir(course):
        app.initialize([])
    return app


def coursedir(course: Path) -> Any:
    """The course's folders, as nbgrader sees them."""
    return application(course).coursedir


def check(course: Path, assignment: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what was looked at, and the troubles found there."""
    app = application(course)
    layout = Layout(app.coursedir, assignment)
    source = _read(layout.source / layout.notebook)
    yield "configuration", list(_configuration(app, course))
    yield (
        "isolation on this machine",
        [f"{layer.name} is off: {layer.why}" for layer in submissions.missing_layers()],
    )
    yield "source notebook", list(_source(layout, source))
    yield "release, in step with the source", list(_release(layout, source))
    yield "gradebook, in step with the source", list(_gradebook(layout, source))
    yield "submissions", list(_submissions(layout))


def _configuration(app: Any, course: Path) -> Iterator[str]:
    root = Path(app.coursedir.root)
    if root != course.resolve():
        yield f"nbgrader's course root is {root}: c.CourseDirectory.root in nbgrader_config.py"
    for (section, name), wanted in _OPTIONS.items():
        value = app.config[section].get(name, [])
        values = value if isinstance(value, list) else [value]
        classes = [import_item(v) if isinstance(v, str) else v for v in values]
        if not any(isinstance(c, type) and issubclass(c, wanted) for c in classes):
            yield f"c.{section}.{name} in nbgrader_config.py lacks {wanted.__name__}"


def _source(layout: Layout, source: Any) -> Iterator[str]:
    if source is None:
        yield f"{layout.source / layout.notebook} is missing, or is no notebook"
        return
    kernel = source.metadata.get("kernelspec", {}).get("name")
    if kernel not in KernelSpecManager().find_kernel_specs():
        yield f"there is no kernel {kernel!r} on this machine"
    if layout.assignment not in EXERCISES:
        yield f"there is no exercise {layout.assignment!r}"
        return
    exercise = EXERCISES[layout.assignment]
    wanted = {public_name(c.name, exercise): c.max_points for c in CHECKS if c.max_points}
    found = _graded(source)
    for name in wanted.keys() - found.keys():
        yield f"no graded cell asks for {name}"
    for name, (asks, points) in found.items():
        if asks != name:
            yield f"the cell with grade id {name} asks for {asks}"
        elif name not in wanted:
            yield f"the grade id {name} is no check; there are: {', '.join(wanted)}"
        elif points != wanted[name]:
            yield f"the cell {name} has {points:g} points, its check {wanted[name]:g}"


def _release(layout: Layout, source: Any) -> Iterator[str]:
    again = "make the release again (make release, or nbgrader generate_assignment --force)"
    released = _read(layout.release / layout.notebook)
    if released is None:
        yield f"there is no release yet: {again}"
    elif source and [c.source for c in released.cells] != [c.source for c in source.cells]:
        yield f"its notebook is not the source's: {again}"
    elif source and _graded(released) != _graded(source):
        yield f"its points are not the source's: {again}"
    starter, file = handout.starter(layout.assignment), layout.release / layout.file
    if released and not (file.is_file() and file.read_bytes() == starter):
        yield f"its {layout.file} is not the starter: {again}"


def _gradebook(layout: Layout, source: Any) -> Iterator[str]:
    if not Path(layout.coursedir.db_url.removeprefix("sqlite:///")).exists():
        return  # comes with the first release
    with Gradebook(layout.coursedir.db_url, layout.coursedir.course_id) as gradebook:
        try:
            notebook = gradebook.find_notebook(layout.assignment, layout.assignment)
            known = {cell.name: cell.max_score for cell in notebook.grade_cells}
        except MissingEntry:
            known = {}
    wanted = {name: points for name, (_, points) in _graded(source).items()} if source else known
    if known != wanted:
        yield f"it has {known}, the source {wanted}: make the release again"


def _submissions(layout: Layout) -> Iterator[str]:
    for student in layout.students():
        folder = layout.submitted(student)
        if not (folder / layout.notebook).is_file():
            yield f"{student}: no {layout.notebook}, nbgrader may skip it (grader course-prepare)"
        elif not (folder / TIMESTAMP).is_file():
            yield f"{student}: no {TIMESTAMP}, stops release_feedback (grader course-prepare)"
        if not (folder / layout.file).is_file():
            yield f"{student}: no {layout.file}, earns nothing"
    parents = {path.parent for path in Path(layout.submitted("*").parent.parent).glob("*/*.py")}
    for parent in sorted(parents):
        yield f"{parent.name}: its files belong into {parent.name}{os.sep}{layout.assignment}"


def _graded(notebook: Any) -> dict[str, tuple[str, float]]:
    """By grade id: the check that the cell asks for, and its points; written answers left out."""
    graded = {}
    for cell in notebook.cells:
        if is_grade(cell) and not is_solution(cell):
            about = cell.metadata.nbgrader
            try:
                name, _ = cells.asked(cell.source)
            except (ValueError, SyntaxError):
                name = "something else than points(...)"
            graded[about.grade_id] = (name, float(about.points))
    return graded


def _read(path: Path) -> Any:
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.reader.NotJSONError):
        return None
