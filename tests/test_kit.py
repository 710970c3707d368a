"""The kit proves itself: starter, solution, tables, and what a teacher may add."""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
import sys

import pytest
import torch

from grader.diagnosis import formulas
from grader.exercises import EXERCISES
from grader.questions import Examiner

CUBE = EXERCISES["cube"]


def test_the_starter_is_short_and_its_bug_is_the_planted_one(root):
    text = (root / "starter" / "cube.py").read_text("utf-8")
    assert len(text.splitlines()) < 40
    assert text.count("TODO") == 1
    assert "        return grad_out * x**2\n" in text


def test_the_solution_differs_only_in_the_repaired_lines(root):
    starter = (root / "starter" / "cube.py").read_text("utf-8").splitlines()
    solution = (root / "solution" / "cube.py").read_text("utf-8").splitlines()
    changed = [line for line in difflib.ndiff(starter, solution) if line.startswith(("+ ", "- "))]
    assert len(changed) == 4
    assert all("#" in line or "return grad_out" in line for line in changed)


def probes_of(exercise, gradient):
    examiner = Examiner(exercise, 3)
    found = []
    for question in examiner.backward():
        x, g = question.arguments["x"], question.arguments["grad_output"]
        y = gradient(x, g).double().expand_as(x)
        found.append(formulas.Probe(x, g, y))
    return found


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_no_two_formulas_agree_on_the_probes(exercise):
    for row in exercise.formulas:
        given = probes_of(exercise, row.gradient)
        agreeing = [f for f in exercise.formulas if formulas.reproduces(f.gradient, given, 1e-5)]
        assert agreeing == [row], [f.computes for f in agreeing]


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_no_formula_is_within_tolerance_of_the_right_answer(exercise):
    given = probes_of(exercise, exercise.gradient)
    assert [
        f.computes for f in exercise.formulas if formulas.reproduces(f.gradient, given, 1e-3)
    ] == []


@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        (lambda x, g: 4 * g * x**2, "4 · grad_output · x²"),
        (lambda x, g: g * x**2 / 3 * 2, "2/3 · grad_output · x²"),
        (lambda x, g: -5 * g**3 * x, "-5 · grad_output³ · x"),
        (lambda x, g: g * 3 * x**2 + 1, "the right gradient + 1"),
        (lambda x, g: g * 3 * x**2 - 2 * x, "the right gradient - 2 · x"),
        (lambda x, g: 3 * g.abs() * x**2, "3 · |grad_output| · x²"),
        (lambda x, g: g * torch.sin(x), "None"),
    ],
)
def test_the_fit_says_what_it_can_prove_and_nothing_else(gradient, words):
    assert str(formulas.fit(probes_of(CUBE, gradient), CUBE.gradient)) == words


def test_probes_have_both_signs_and_a_zero_and_no_ones():
    first = Examiner(CUBE, 8).backward()[0]
    x, g = first.arguments["x"], first.arguments["grad_output"]
    assert (x > 0).any() and (x < 0).any() and (x == 0).any()
    assert (g > 0).any() and (g < 0).any()
    assert not torch.isin(x.abs(), torch.tensor([1.0, 2.0], dtype=x.dtype)).any()
    assert (x.sign() * g.sign() < 0).any() and (x.sign() * g.sign() > 0).any()


def test_a_row_added_as_contributing_says_is_named(root, tmp_path):
    guide = (root / "CONTRIBUTING.md").read_text("utf-8")
    row = re.search(r"```python\n(    Formula\(.*?)```", guide, re.DOTALL)
    assert row, "CONTRIBUTING.md shows a row"
    assert len(row[1].splitlines()) <= 8
    copy = tmp_path / "kit"
    shutil.copytree(root / "grader", copy / "grader")
    spec = copy / "grader" / "exercises" / "cube.py"
    text = spec.read_text("utf-8")
    # The table has this mistake already; without its row the file has no name.
    old = re.search(
        r"    Formula\(\n        lambda x, g: g \* 3 \* x,\n.*?\n    \),\n(?=    Formula)",
        text,
        re.DOTALL,
    )
    assert old
    submission = root / "tests" / "submissions" / "008_exponent_lowered_twice.py"

    def grade():
        return subprocess.run(
            [sys.executable, "-m", "grader", "grade", str(submission)],
            cwd=copy, capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip

    spec.write_text(text.replace(old[0], ""), "utf-8")
    assert "another formula" in grade()
    spec.write_text(text.replace(old[0], row[1]), "utf-8")
    title = re.search(r'"([A-Z][^"]{10,60})"', row[1])
    assert title
    assert title[1] in grade()
