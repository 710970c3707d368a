"""A run that is stopped in any way goes on as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time

import classes
import pytest

pytestmark = pytest.mark.tool("bwrap")
#: Enough for a run to be stopped in the midst of it.
COPIES = 5
#: How often each signal strikes: CLASS_ROUNDS=7 makes it twenty and one.
ROUNDS = int(os.environ.get("CLASS_ROUNDS", "1"))
RANDOM = random.Random()  # noqa: S311 - moments, not secrets
FILES = ("001_starter_unchanged.py", "003_negated_gradient.py", "002_factor_applied_twice.py")


@pytest.fixture(scope="module")
def submissions(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    for i in range(COPIES):
        for name in FILES:
            shutil.copy(root / "tests/submissions" / name, folder / f"{name[:-3]}_{i}.py")
        shutil.copy(root / "solution/cube.py", folder / f"right_{i}.py")
    return folder


@pytest.fixture(scope="module")
def undisturbed(submissions, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    assert classes.grade(submissions, out, "--jobs", "2", "--seed", "3", "--gradescope")[0] == 0
    return classes.snapshot(out)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL] * ROUNDS)
def test_resumed_equals_undisturbed(submissions, undisturbed, tmp_path, number):
    """Stopped after a random count of results, and resumed: the same files, byte for byte."""
    out, options = tmp_path / "out", ("--jobs", "2", "--seed", "3", "--gradescope")
    running = classes.start(submissions, out, *options)
    log = out / "results.jsonl"
    stop_after = RANDOM.randrange(1, COPIES * 4 - 4)
    while running.poll() is None and (
        not log.exists() or log.read_bytes().count(b"\n") < stop_after
    ):
        time.sleep(0.01)
    time.sleep(RANDOM.random() * 0.1)
    running.send_signal(number)
    said = running.communicate()[1]
    if number != signal.SIGKILL and running.returncode:
        assert running.returncode == 2
        assert "--resume" in said
    with log.open("ab") as file:
        file.write(b'{"student": "right_0", "sha256": "torn')  # as a power cut leaves it
    assert classes.grade(submissions, out, *options, "--resume")[0] == 0
    assert classes.snapshot(out) == undisturbed


def test_a_changed_file_is_graded_again(submissions, root, tmp_path):
    folder, out = tmp_path / "class", tmp_path / "out"
    folder.mkdir()
    shutil.copy(submissions / "001_starter_unchanged_0.py", folder / "a.py")
    shutil.copy(submissions / "right_0.py", folder / "b.py")
    assert classes.grade(folder, out)[0] == 0
    assert classes.rows(out)["a"]["verdict"] == "fail"
    before = (out / "reports/a.html").read_text("utf-8")
    shutil.copy(root / "solution/cube.py", folder / "a.py")
    assert classes.grade(folder, out, "--resume")[0] == 0
    assert classes.rows(out)["a"]["verdict"] == "pass"
    assert (out / "reports/a.html").read_text("utf-8") != before
    status, said = classes.grade(folder, out)
    assert status == 2
    assert "--resume" in said
