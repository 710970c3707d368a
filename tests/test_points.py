"""`points`, as a notebook's cells call it; here without a notebook around."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT

SOLUTION = (ROOT / "solution" / "cube.py").read_bytes()
STARTER = (ROOT / "starter" / "cube.py").read_bytes()


class Session:
    """A Python that has run `from grader.notebook import points` in a student's folder."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-P", "-c", CELLS],
            **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE),
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            text=True,
        )

    def cell(self, code: str):
        """Run a cell; returns what it prints and its value's repr."""
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


CELLS = """
import contextlib, io, json, sys
from grader.notebook import points
for line in sys.stdin:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            value = repr(eval(json.loads(line)))
        except KeyboardInterrupt:
            value = "interrupted"
    print(json.dumps([printed.getvalue(), value]))
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("student")
    (folder / "torch.py").write_text("raise SystemExit('a stray torch.py was imported')")
    session = Session(folder)
    session.file = folder / "cube.py"
    yield session
    session.process.stdin.close()
    assert session.process.stderr.read() == ""
    assert session.process.wait(20) == 0


def test_the_first_cell_shows_all_the_others_their_own(session):
    session.file.write_bytes(STARTER)
    text, value = session.cell('points("forward")')
    assert value == "2.0"
    assert text.startswith("FAIL  2 of 10  cube.py\n")
    assert "The factor 3 of the derivative is missing" in text
    other, value = session.cell('points("backward")')
    assert value == "0.0"
    assert other.startswith("FAIL  0 of 3")
    assert 'The whole report is under points("forward").' in other
    assert len(other.splitlines()) < 6
    again, _ = session.cell('points("forward")')
    assert again == text, "a cell that runs again keeps what it shows"


def test_an_edited_file_is_graded_anew(session):
    session.file.write_bytes(STARTER)
    session.cell('points("contract")')
    session.file.write_bytes(SOLUTION)
    text, value = session.cell('points("contract")')
    assert value == "2.0"
    assert text.startswith("PASS  10 of 10")
    assert session.cell('points("cube_grad")') == [
        "pass  3 of 3  cube_grad(x) is the gradient of Cube.apply(x).sum()\n",
        "3.0",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"def\n", "syntax"),
        (b"import os\nos._exit(3)\n", "ended the whole process"),
        (b"1 / 0\n", "ZeroDivisionError"),
        (b"\xff\xfe\x00", "cube.py"),
    ],
)
def test_whatever_the_file_holds_a_float_comes_back(session, content, words):
    session.file.write_bytes(content)
    text, value = session.cell('points("forward")')
    assert value == "0.0"
    assert words.lower() in text.lower()


def test_a_missing_file_and_a_missing_check(session):
    session.file.unlink()
    text, value = session.cell('points("forward")')
    assert value == "0.0"
    assert "There is no file of this name" in text
    text, value = session.cell('points("froward")')
    assert value == "0.0"
    assert "There is no check 'froward'; there are: load, forward" in text


def test_an_interrupted_cell_leaves_no_answer_for_the_next(session):
    session.file.write_bytes(b"while True: pass\n")
    session.process.stdin.write(json.dumps('points("forward")') + "\n")
    session.process.stdin.flush()
    time.sleep(1)
    session.process.send_signal(signal.SIGINT)
    assert json.loads(session.process.stdout.readline()) == ["", "interrupted"]
    session.file.write_bytes(SOLUTION)
    assert session.cell('points("forward")')[1] == "2.0"


def test_a_grader_that_can_not_start_says_so(tmp_path):
    session = Session(tmp_path)
    text, value = session.cell(
        '(__import__("grader.fresh").fresh.__setattr__("_ROOT", __import__("pathlib").Path("/")), '
        'sys.__setattr__("executable", "false"), points("forward"))[-1]'
    )
    assert value == "0.0"
    assert "The grader itself failed, not your code" in text
    session.process.stdin.close()
    assert session.process.wait(20) == 0
