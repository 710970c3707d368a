"""A course with nbgrader, for tests: real folders, real nbgrader commands, nothing mocked."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from click.testing import CliRunner
from conftest import ROOT
from jupyter_core.application import NoStart
from nbgrader.api import Gradebook
from nbgrader.apps.nbgraderapp import NbGraderApp

from grader.commands import course_new

STARTER = (ROOT / "starter" / "cube.py").read_bytes()
SOLUTION = (ROOT / "solution" / "cube.py").read_bytes()
GRADE_IDS = ("forward", "cube_grad", "backward", "contract")
#: The cells that a graded run needs; the others teach, and take their time in a kernel.
NEEDED = {"task-grader", *(f"graded-{name.replace('_', '-')}" for name in GRADE_IDS)}


#: A course that was made before, to copy.
_first: list[Path] = []


@dataclass(frozen=True)
class Course:
    """One course in a folder of its own."""

    root: Path

    @classmethod
    def new(cls, root: Path) -> Course:
        """Make a course as `grader course-new` does, with a short notebook, and its release."""
        root.parent.mkdir(exist_ok=True)
        if _first:  # a gradebook and a release take seconds; so they are made once, and copied
            shutil.copytree(_first[0], root)
            config = root / "nbgrader_config.py"
            before, after = repr(str(_first[0])), repr(str(root))
            config.write_text(config.read_text().replace(before, after))
            return cls(root)
        result = CliRunner().invoke(course_new.command, [str(root)])
        assert result.exit_code == 0, result.output
        course = cls(root)
        with (root / "nbgrader_config.py").open("a") as config:
            config.write("c.CourseDirectory.course_id = 'cube'\n")
            # Tests run on machines that lack a layer, too; who refuses then has a test.
            config.write("c.SubmissionExporter.trust_submissions = True\n")
        with course.source() as notebook:
            notebook.cells = [cell for cell in notebook.cells if cell.id in NEEDED]
        course.release()
        _first.append(shutil.copytree(root, Path(tempfile.mkdtemp()) / "course"))
        config = _first[0] / "nbgrader_config.py"
        config.write_text(config.read_text().replace(repr(str(root)), repr(str(_first[0]))))
        return course

    @contextlib.contextmanager
    def source(self) -> Iterator[Any]:
        """Change the source notebook."""
        path = self.root / "source" / "cube" / "cube.ipynb"
        notebook = nbformat.read(path, as_version=4)
        yield notebook
        nbformat.write(notebook, path)

    def run(self, *arguments: str) -> int:
        """Run an nbgrader command in the course's folder; returns its exit status."""
        return run(self.root, *arguments)

    def release(self) -> Path:
        """Generate the release; returns its folder."""
        assert self.run("generate_assignment", "cube", "--force") == 0
        return self.root / "release" / "cube"

    def released(self) -> dict[str, Any]:
        """The release notebook as data, to be changed at will."""
        path = self.root / "release" / "cube" / "cube.ipynb"
        return copy.deepcopy(json.loads(path.read_text("utf-8")))

    def hand_in(self, student: str, files: dict[str, bytes | dict[str, Any] | None]) -> Path:
        """Put a submission where nbgrader's collect would; None is a folder."""
        folder = self.root / "submitted" / student / "cube"
        folder.mkdir(parents=True)
        for name, content in files.items():
            if content is None:
                (folder / name).mkdir()
            elif isinstance(content, bytes):
                (folder / name).write_bytes(content)
            else:
                (folder / name).write_text(json.dumps(content), "utf-8")
        return folder

    def scores(self) -> dict[str, float]:
        """By student: the score in the gradebook; whoever needs manual grading fails the test."""
        with self.gradebook() as gradebook:
            found = {}
            for submission in gradebook.assignment_submissions("cube"):
                assert not submission.needs_manual_grade, submission.student.id
                found[submission.student.id] = submission.score
            return found

    def grades(self) -> dict[str, dict[str, float]]:
        """By student and grade id: the points that grading gave."""
        with self.gradebook() as gradebook:
            return {
                submission.student.id: {
                    grade.name: grade.auto_score
                    for notebook in submission.notebooks
                    for grade in notebook.grades
                }
                for submission in gradebook.assignment_submissions("cube")
            }

    def gradebook(self) -> Gradebook:
        """The course's gradebook."""
        return Gradebook(f"sqlite:///{self.root / 'gradebook.db'}", "cube")

    def report(self, student: str) -> dict[str, Any]:
        """The report that grading left."""
        path = self.root / "autograded" / student / "cube" / "report.json"
        return dict(json.loads(path.read_text("utf-8")))

    def feedback(self, student: str) -> Path:
        """A student's page."""
        return self.root / "feedback" / student / "cube" / "cube.html"


def run(folder: Path, *arguments: str) -> int:
    """Run an nbgrader command in a folder, in this process."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    NbGraderApp.clear_instance()
    with (
        contextlib.chdir(folder),
        environment(PATH=path),  # nbgrader calls alembic by name
        warnings.catch_warnings(action="ignore"),  # its own, about its database
    ):
        app = NbGraderApp.instance()
        try:
            app.initialize(list(arguments))
            with contextlib.suppress(NoStart):  # the subcommand was started instead
                app.start()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 1
        finally:
            app.reset()
            NbGraderApp.clear_instance()
            sys.path[:] = [place for place in sys.path if place != str(folder)]
    return 0


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Set environment variables for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def submission(name: str) -> bytes:
    """A file of the collection in tests/submissions, by its beginning."""
    (path,) = (ROOT / "tests" / "submissions").glob(f"{name}*.py")
    return path.read_bytes()


def copy_release(course: Course, folder: Path) -> None:
    """What a student begins with."""
    shutil.copytree(course.root / "release" / "cube", folder)
