"""The commands of docs/instructors.md are run as they stand there."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, require_tool
from courses import SOLUTION, STARTER

DOC = (ROOT / "docs" / "instructors.md").read_text("utf-8")
COMMANDS = re.findall(r"```sh\n(.*?)```", DOC, re.DOTALL)[0].splitlines()
RELEASED = {"cube.ipynb", "cube.py", "README.md"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with a download in it, in which every command was run."""
    require_tool("make")
    require_tool("zip")
    home = tmp_path_factory.mktemp("home")
    (home / "Downloads").mkdir()
    with zipfile.ZipFile(home / "Downloads" / "submissions.zip", "w") as download:
        download.writestr("doejane_11_1_cube.py", SOLUTION)
        download.writestr("roejim_LATE_12_2_cube.py", STARTER)
    here = Path(sys.executable).parent
    for name in ("grade", "instructor"):  # what these install is here already
        (home / f"ready-{name}").touch()
    variables = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(here), os.environ["PATH"]]),
        "MAKEFLAGS": f"BIN={here} READY={home}/ready",
        "PYTHONPATH": str(ROOT),
    }
    config = home / "autograd" / "nbgrader_config.py"
    for command in COMMANDS:
        run = subprocess.run(
            [require_tool("bash"), "-euc", command.replace(".venv/bin/python", sys.executable)],
            cwd=ROOT,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"
        if command == COMMANDS[0]:
            with config.open("a") as file:  # tests run where a layer is missing, too
                file.write("c.SubmissionExporter.trust_submissions = True\n")
    return home


def test_there_are_at_most_ten():
    assert len(COMMANDS) <= 10


def test_they_release_what_students_need_and_nothing_else(home):
    release = home / "autograd" / "release" / "cube"
    assert {path.name for path in release.iterdir()} == RELEASED
    assert (release / "cube.py").read_bytes() == STARTER
    new = set(SOLUTION.decode().splitlines()) - set(STARTER.decode().splitlines())
    text = (release / "cube.ipynb").read_text("utf-8") + (release / "README.md").read_text("utf-8")
    assert not any(line.strip() in text for line in new)
    with zipfile.ZipFile(home / "autograd" / "handout.zip") as handout:
        assert {Path(n).name for n in handout.namelist() if not n.endswith("/")} == RELEASED


def test_they_end_in_grades(home):
    with (home / "autograd" / "grades-checks.csv").open(newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {student: float(row["score"]) for student, row in rows.items()} == {
        "doejane_11": 10,
        "roejim_12": 2,
    }
    assert rows["roejim_12"]["mistake"] == "missing-factor-3"
    with (home / "autograd" / "grades.csv").open(newline="") as file:
        assert {row["student_id"] for row in csv.DictReader(file)} == rows.keys()


def test_they_end_in_feedback(home):
    with zipfile.ZipFile(home / "autograd" / "feedback.zip") as packed:
        pages = sorted(name for name in packed.namelist() if not name.endswith("/"))
    assert pages == [f"{name}/cube/cube.html" for name in ("doejane_11", "roejim_12")]


def test_a_working_copy_is_opened_and_no_tracked_file(tmp_path):
    require_tool("make")
    for name in ("Makefile", "notebooks", "starter", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("grade", "instructor"):
        (tmp_path / f"ready-{name}").touch()
    here = Path(sys.executable).parent
    command = ["make", "lab", f"BIN={here}", f"READY={tmp_path}/ready", "ARGS=--version"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    assert {path.name for path in (tmp_path / "lab").iterdir()} == RELEASED
    (tmp_path / "lab" / "cube.py").write_bytes(SOLUTION)
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "lab" / "cube.py").read_bytes() == SOLUTION, "a student's work stays"
