"""Autograding: whatever else was handed in, the student's own cube.py is graded."""

from __future__ import annotations

import csv
import html
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, require_tool
from courses import GRADE_IDS, SOLUTION, STARTER, Course, submission

from grader.course.cells import JUDGE

WARNS = b"import sys, warnings\nwarnings.warn('careful')\nprint('oh', file=sys.stderr)\n" + SOLUTION
TORCH = b"raise SystemExit('a stray torch.py was imported')\n"
SCRIPT = b"# </code></pre><script>document.title = 'taken over'</script>\n# BEGIN HIDDEN TESTS\n"
FORGERY = """
class Full(float):
    def __repr__(self): return "3.0"
plain = get_ipython().display_formatter.formatters["text/plain"]
plain.for_type(float, lambda value, printer, cycle: printer.text("3.0"))
import torch, grader.notebook
torch.autograd.gradcheck = lambda *a, **k: True
grader.notebook.points = points = lambda *a: Full()
"""


def writes_gradebook(course: Course) -> bytes:
    """A right file that gives itself and everyone else full points, or tries to."""
    attack = f"""
import sqlite3
try:
    with sqlite3.connect({str(course.root / "gradebook.db")!r}) as base:
        base.execute("UPDATE grade SET manual_score = 99, auto_score = 99")
except sqlite3.Error:
    pass
"""  # noqa: S608 - the attack is the point
    return STARTER + attack.encode()


def cell(source: str) -> dict[str, object]:
    return dict(nbformat.v4.new_code_cell(source, id="own"))


def notebooks(course: Course) -> dict[str, dict[str, object]]:
    """Notebooks that students hand in, by what became of them."""
    edited, deleted, stripped, forged, schema, doubled = (course.released() for _ in range(6))
    for each in edited["cells"]:
        each["source"] = "3.0"
    deleted["cells"] = [c for c in deleted["cells"] if "nbgrader" not in c["metadata"]]
    for each in stripped["cells"]:
        each["metadata"] = {}
    rewrite = f"open('cube.py', 'wb').write({SOLUTION!r})"
    forged["cells"] = [cell(FORGERY), cell(rewrite), *forged["cells"], cell(FORGERY)]
    for each in schema["cells"]:
        if "nbgrader" in each["metadata"]:
            each["metadata"]["nbgrader"]["schema_version"] = 1
    doubled["cells"] += doubled["cells"]
    return {
        "edited": edited,
        "deleted": deleted,
        "stripped": stripped,
        "forged": forged,
        "old-schema": schema,
        "doubled": doubled,
    }


def kinds(course: Course) -> dict[str, tuple[dict[str, object], float]]:
    """By kind of submission: its files, and the score that its cube.py is worth."""
    release = course.released()

    def both(file: bytes | None, **more: object) -> dict[str, object]:
        return {"cube.py": file, "cube.ipynb": release, **more}

    found = {
        "starter": (both(STARTER), 2),
        "solution": (both(SOLUTION), 10),
        "another-solution": (both(submission("129")), 10),
        "squared-forward": (both(submission("021")), 0),
        "summed": (both(submission("039")), 2),
        "attribute": (both(submission("057")), 10),
        "instance-call": (both(submission("064")), 7),
        "syntax-error": (both(STARTER + b"def\n"), 0),
        "utf-16": (both(STARTER.decode().encode("utf-16")), 0),
        "odd-encoding": (both(b"# coding: rot13\n" + SOLUTION), 0),
        "empty": (both(b""), 0),
        "script-in-comment": (both(SCRIPT + SOLUTION), 10),
        "loop": (both(b"while True: pass\n"), 0),
        "os-exit": (both(b"import os\nos._exit(0)\n"), 0),
        "stderr": (both(WARNS), 10),
        "huge": (both(b"#" * (11 << 20)), 0),
        "gradebook": (both(writes_gradebook(course)), 2),
        "stray-torch": (both(SOLUTION, **{"torch.py": TORCH, "json.py": TORCH}), 10),
        "stray-folder": (both(SOLUTION, **{"report.json": None}), 10),
        "no-notebook": ({"cube.py": SOLUTION}, 10),
        "corrupt-notebook": ({"cube.py": SOLUTION, "cube.ipynb": b'{"cells": ['}, 10),
        "notebook-is-a-folder": ({"cube.py": SOLUTION, "cube.ipynb": None}, 10),
        "renamed-notebook": ({"cube.py": SOLUTION, "cube (1).ipynb": release}, 10),
        "no-file": ({"cube.ipynb": release}, 0),
        "file-is-a-folder": (both(None), 0),
        "nothing": ({}, 0),
    }
    for name, notebook in notebooks(course).items():
        found[f"{name}-wrong"] = ({"cube.py": STARTER, "cube.ipynb": notebook}, 2)
        found[f"{name}-right"] = ({"cube.py": SOLUTION, "cube.ipynb": notebook}, 10)
    return found


@pytest.fixture(scope="module")
def in_a_kernel(tmp_path_factory):
    """Most of them in a second course, being graded in kernels while other tests run."""
    course = Course.new(tmp_path_factory.mktemp("courses") / "kernel")
    # A kernel costs seconds; these differ from others only in what the judge makes of them.
    alike = {
        *("another-solution", "summed", "attribute", "squared-forward", "instance-call"),
        *("empty", "huge", "script-in-comment", "stray-folder", "renamed-notebook"),
        "notebook-is-a-folder",
    }
    found = kinds(course)
    for student in found.keys() - alike - {name for name in found if name.endswith("-right")}:
        course.hand_in(student, found[student][0])
    command = [sys.executable, "-m", "nbgrader", "autograde", "cube", "--GradeCells.kernel=True"]
    with (course.root / "log").open("w") as log:
        run = subprocess.Popen(command, cwd=course.root, stdout=log, stderr=subprocess.STDOUT)
        yield course, run
        run.kill()
        run.wait()


@pytest.fixture(scope="module")
def course(tmp_path_factory, in_a_kernel):
    """A course in which everyone was graded, without a kernel."""
    course = Course.new(tmp_path_factory.mktemp("courses") / "course")
    for student, (files, _) in kinds(course).items():
        course.hand_in(student, files)
    assert course.run("autograde", "cube") == 0
    return course


@pytest.fixture(scope="module")
def pages(course):
    """The same course with feedback."""
    assert course.run("generate_feedback", "cube") == 0
    return course


def test_each_file_is_worth_what_it_is_worth(course):
    assert course.scores() == {student: score for student, (_, score) in kinds(course).items()}


def test_the_reason_is_in_the_report(course):
    for student, words in {
        "loop": "10 s",
        "os-exit": "ended the whole process",
        "no-file": "There is no file of this name",
        "nothing": "There is no file of this name",
        "starter": "The factor 3",
    }.items():
        assert words in json.dumps(course.report(student)), student


def test_grading_can_not_be_switched_off_into_full_points(course, tmp_path):
    other = Course.new(tmp_path / "course")
    other.hand_in("starter", {"cube.py": STARTER, "cube.ipynb": course.released()})
    assert other.run("autograde", "cube", "--no-execute") == 0
    assert other.scores() == {"starter": 2}


def test_without_its_configuration_nothing_is_graded(tmp_path):
    course = Course.new(tmp_path / "course")
    course.hand_in("ann", {"cube.py": SOLUTION, "cube.ipynb": course.released()})
    config = course.root / "nbgrader_config.py"
    config.write_text(config.read_text().replace(str(ROOT), str(tmp_path / "moved")))
    assert course.run("autograde", "cube") == 1
    assert not (course.root / "autograded").exists()


def test_a_changed_file_is_graded_anew(tmp_path):
    course = Course.new(tmp_path / "course")
    folder = course.hand_in("ann", {"cube.py": STARTER, "cube.ipynb": course.released()})
    assert course.run("autograde", "cube") == 0
    assert course.scores() == {"ann": 2}
    (folder / "cube.py").write_bytes(SOLUTION)
    assert course.run("autograde", "cube") == 0
    assert course.scores() == {"ann": 10}


def test_a_written_answer_is_the_students_own(tmp_path):
    course = Course.new(tmp_path / "course")
    with course.source() as notebook:
        written = notebook.cells[-1].copy()
        written.cell_type, written.source, written.id = "markdown", "Why a backward?", "why"
        written.metadata = {"nbgrader": dict(written.metadata.nbgrader)}
        written.metadata["nbgrader"] |= {"grade_id": "why", "solution": True, "locked": False}
        del written["outputs"], written["execution_count"]
        notebook.cells.append(written)
    course.release()
    answered = course.released()
    answered["cells"][-1]["source"] = ["For stability,\n", "and memory."]
    course.hand_in("ann", {"cube.py": SOLUTION, "cube.ipynb": answered})
    assert course.run("autograde", "cube") == 0
    graded = (course.root / "autograded" / "ann" / "cube" / "cube.ipynb").read_text("utf-8")
    assert "and memory." in graded
    with course.gradebook() as gradebook:
        assert gradebook.find_submission("cube", "ann").needs_manual_grade  # a person reads it


def test_a_cell_that_asks_something_else_earns_no_points(tmp_path):
    course = Course.new(tmp_path / "course")
    with course.source() as notebook:
        notebook.cells[-1].source = "assert True"
    course.release()
    course.hand_in("ann", {"cube.py": SOLUTION, "cube.ipynb": course.released()})
    assert course.run("autograde", "cube") != 0


def test_without_isolation_nothing_is_graded(tmp_path, monkeypatch):
    course = Course.new(tmp_path / "course")
    course.hand_in("ann", {"cube.py": SOLUTION, "cube.ipynb": course.released()})
    config = course.root / "nbgrader_config.py"
    config.write_text(config.read_text().replace("trust_submissions = True", "enabled = True"))
    # A Python in which a process that wants namespaces of its own is refused them.
    script = tmp_path / "python"
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces"
    script.write_text(
        f"#!/bin/sh\nexec {require_tool('unshare')} --user --map-root-user "
        f'sh -c \'{forbid} && exec "$@"\' - {sys.executable} "$@"\n'
    )
    script.chmod(0o755)
    if subprocess.run([script, "-c", ""], check=False).returncode:
        pytest.skip("namespaces can't be forbidden here")
    JUDGE.close()
    monkeypatch.setattr(sys, "executable", str(script))
    try:
        assert course.run("autograde", "cube") == 1
        assert not (course.root / "autograded").exists()
        assert course.run("autograde", "cube", "--SubmissionExporter.trust_submissions=True") == 0
        assert course.scores() == {"ann": 10}
    finally:
        JUDGE.close()


# Feedback


def text_of(page: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text("utf-8")))


def test_everyone_gets_a_page(pages):
    assert all(pages.feedback(student).exists() for student in kinds(pages))
    assert not list((pages.root / "feedback").rglob("report.json"))


def test_a_page_has_the_code_the_diagnosis_and_the_points(pages):
    text = text_of(pages.feedback("starter"))
    assert "return grad_out * x**2" in text
    assert "FAIL  2 of 10  cube.py" in text
    assert "The factor 3 of the derivative is missing" in text
    assert "Score: 2.0 / 10.0" in text
    assert text.count("Grade cell:") == len(GRADE_IDS)


def test_a_page_has_no_path_of_this_machine(pages):
    for student in kinds(pages):
        text = pages.feedback(student).read_text("utf-8")
        assert str(ROOT) not in text, student
        shown = (
            text.replace(str(pages.root / "gradebook.db"), "", 1)
            if student == "gradebook"
            else text
        )
        assert str(pages.root) not in shown, student  # but for the one that the student wrote


def test_hidden_tests_stay_hidden(tmp_path):
    course = Course.new(tmp_path / "course")
    with course.source() as notebook:
        last = notebook.cells[-1]
        last.source = f"### BEGIN HIDDEN TESTS\n{last.source}\n### END HIDDEN TESTS"
    release = course.release()
    assert "contract" not in json.loads((release / "cube.ipynb").read_text())["cells"][-1]["source"]
    course.hand_in("ann", {"cube.py": SCRIPT + SOLUTION, "cube.ipynb": course.released()})
    assert course.run("autograde", "cube") == 0
    assert course.scores() == {"ann": 10}
    assert course.run("generate_feedback", "cube") == 0
    assert 'points("contract")' not in text_of(course.feedback("ann"))


@pytest.mark.tool("chromium", "google-chrome")
def test_a_page_opens_in_a_browser(pages, tmp_path):
    dom = opened(pages.feedback("script-in-comment"), tmp_path)
    assert "<title>cube</title>" in dom, "a student's text ran as a script"
    assert "PASS  10 of 10  cube.py" in html.unescape(re.sub(r"<[^>]+>", "", dom))


def opened(page: Path, tmp_path: Path) -> str:
    """The page as a browser has it after it has run its scripts."""
    flags = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
        *("--disable-background-networking", "--disable-component-update", "--dump-dom"),
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ]
    browser = require_tool("chromium", "google-chrome")
    run = subprocess.run(
        [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return run.stdout


# Export


def test_export_writes_both_tables(course):
    assert course.run("export", "--to", "table.csv") == 0
    with (course.root / "table.csv").open(newline="") as file:
        plain = {row["student_id"]: row for row in csv.DictReader(file)}
    with (course.root / "table-checks.csv").open(newline="") as file:
        checks = {row["student_id"]: row for row in csv.DictReader(file)}
    assert plain.keys() == checks.keys() == kinds(course).keys()
    for student, (_, score) in kinds(course).items():
        assert float(plain[student]["score"]) == float(checks[student]["score"]) == score
        assert sum(float(checks[student][name]) for name in GRADE_IDS) == score
    assert checks["starter"]["mistake"] == "missing-factor-3"
    assert checks["solution"]["mistake"] == ""
    assert checks["loop"]["load"] == "fail"


# The other way of grading


def test_a_kernel_gives_the_same_scores(course, in_a_kernel):
    other, run = in_a_kernel
    assert run.wait(280) == 0, (other.root / "log").read_text()
    grades = other.grades()
    assert len(grades) >= 20
    fast = course.grades()
    assert grades == {student: fast[student] for student in grades}
    for student in grades:
        ours, theirs = other.report(student), course.report(student)
        assert [c["status"] for c in ours["checks"]] == [c["status"] for c in theirs["checks"]]
