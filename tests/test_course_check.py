"""`grader course-check`: a good course is in order, and each trouble is seen."""

from __future__ import annotations

import shutil
import sys

import pytest
from click.testing import CliRunner
from conftest import ROOT
from courses import SOLUTION, Course

from grader.commands import course_check, course_prepare


@pytest.fixture
def course(tmp_path):
    return Course.new(tmp_path / "course")


def troubles(course: Course) -> str:
    """What the command says, if anything is wrong."""
    result = CliRunner().invoke(course_check.command, [str(course.root)])
    sys.path[:] = [place for place in sys.path if place != str(course.root)]
    assert result.exit_code == ("TROUBLE" in result.output), result.output
    return result.output if result.exit_code else ""


def test_a_new_course_is_in_order(course):
    assert troubles(course) == ""


def test_the_repository_is_a_course_but_for_the_release(tmp_path):
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    found = troubles(Course(tmp_path / "notebooks"))
    assert found.count("TROUBLE") == 1
    assert "there is no release yet" in found


def change_points(course):
    with course.source() as notebook:
        notebook.cells[-1].metadata.nbgrader.points = 5


def change_question(course):
    with course.source() as notebook:
        notebook.cells[-1].source = 'points("backward")'


def drop_cell(course):
    with course.source() as notebook:
        del notebook.cells[-1]


def change_kernel(course):
    with course.source() as notebook:
        notebook.metadata.kernelspec.name = "no-such-kernel"


def drop_source(course):
    (course.root / "source" / "cube" / "cube.ipynb").unlink()


def change_released_file(course):
    (course.root / "release" / "cube" / "cube.py").write_bytes(SOLUTION)


def change_config(course):
    with (course.root / "nbgrader_config.py").open("a") as config:
        config.write("from nbgrader.preprocessors import Execute\n")
        config.write("c.Autograde.autograde_preprocessors = [Execute]\n")


def lone_file(course):
    course.hand_in("ann", {"cube.py": SOLUTION})


def no_file(course):
    course.hand_in("ann", {"cube.ipynb": course.released()})


def misplaced(course):
    (course.root / "submitted" / "ann").mkdir(parents=True)
    (course.root / "submitted" / "ann" / "cube.py").write_bytes(SOLUTION)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_points, "the cell contract has 5 points, its check 2"),
        (change_question, "the cell with grade id contract asks for backward"),
        (drop_cell, "no graded cell asks for contract"),
        (change_kernel, "there is no kernel 'no-such-kernel'"),
        (drop_source, "is missing, or is no notebook"),
        (change_released_file, "its cube.py is not the starter"),
        (change_config, "lacks GradeCells"),
        (lone_file, "ann: no cube.ipynb, nbgrader may skip it"),
        (no_file, "ann: no cube.py, earns nothing"),
        (misplaced, "ann: its files belong into"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_trouble_is_seen(course, change, words):
    change(course)
    assert words in troubles(course)


def test_prepare_mends_what_nbgrader_would_skip(course):
    lone_file(course)
    result = CliRunner().invoke(course_prepare.command, [str(course.root)])
    assert result.output == "ann: added cube.ipynb, timestamp.txt, submission_secret.txt\n"
    assert troubles(course) == ""
    assert CliRunner().invoke(course_prepare.command, [str(course.root)]).output == ""


def test_a_course_that_was_made_is_not_made_again(course):
    before = (course.root / "nbgrader_config.py").read_text()
    from grader.commands import course_new

    assert CliRunner().invoke(course_new.command, [str(course.root)]).exit_code == 0
    assert (course.root / "nbgrader_config.py").read_text() == before
