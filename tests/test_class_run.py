"""A class in rough weather: no bubblewrap, servers that are killed, the corpus in any order."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from pathlib import Path

import classes
import psutil
import pytest

from grader import grade

HERE = Path(__file__).parent
CASES = json.loads((HERE / "submissions/manifest.json").read_text("utf-8"))
#: How often, and how much of the corpus: CLASS_ROUNDS=5 takes all of it, five times.
ROUNDS = int(os.environ.get("CLASS_ROUNDS", "1"))
SHARE = 1.0 if ROUNDS > 1 else 0.15
#: They take until a limit strikes; their share of a run is bounded.
SLOW = [name for name, (_, mistake) in CASES.items() if mistake == "infinite-loop"]

KILLER = """
import os, signal
for pid in {os.getppid(), 1, -1, *range(2, 60)} - {0, os.getpid()}:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
"""


@pytest.fixture
def right(root):
    return (root / "solution/cube.py").read_text("utf-8")


def write(folder, **files):
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return folder


def programs(folder, **scripts):
    """A PATH with nothing in it but these scripts."""
    folder.mkdir()
    for name, text in scripts.items():
        (folder / name).write_text("#!/bin/sh\n" + text, "utf-8")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("scripts", "words"),
    [({}, "apt install bubblewrap"), ({"bwrap": "echo 'bwrap: No luck' >&2; exit 1\n"}, "No luck")],
)
def test_without_bubblewrap(tmp_path, right, scripts, words):
    """One line and status 2; with --trust-submissions it goes on, and reports say so."""
    folder, out = write(tmp_path / "class", ann=right), tmp_path / "out"
    path = programs(tmp_path / "bin", **scripts)
    status, said = classes.grade(folder, out, PATH=path)
    assert status == 2
    assert len(said.splitlines()) == 1
    assert words in said
    assert "--trust-submissions" in said
    assert not out.exists()
    status, said = classes.grade(folder, out, "--trust-submissions", PATH=path)
    assert status == 0
    report = classes.reports(out)["ann"]
    assert report["verdict"] == "pass"
    layers = {layer["name"]: layer for layer in report["isolation"]}
    assert not layers["bubblewrap"]["on"]
    assert words in layers["bubblewrap"]["why"]
    assert "bubblewrap" in (out / "class.html").read_text("utf-8")


@pytest.mark.tool("bwrap")
def test_where_nothing_inside_may_make_namespaces(tmp_path, right):
    """Each submission gets a bubblewrap of its own, so that one which kills harms nobody."""
    script = f'exec {shutil.which("bwrap")} --unshare-user --disable-userns "$@"\n'
    path = programs(tmp_path / "bin", bwrap=script)
    folder = write(tmp_path / "class", ann=right, bob=KILLER + right, cy=right)
    status, said = classes.grade(folder, tmp_path / "out", "--jobs", "1", PATH=path)
    assert status == 0, said
    found = classes.reports(tmp_path / "out")
    assert found["ann"]["verdict"] == found["cy"]["verdict"] == "pass"
    assert found["bob"]["verdict"] == "fail"
    layers = {layer["name"]: layer["on"] for layer in found["cy"]["isolation"]}
    assert layers["bubblewrap"]
    assert not layers["process namespace"]


@pytest.mark.tool("bwrap")
@pytest.mark.parametrize("victim", ["grader.student.jail", "grader.classroom.house"])
def test_a_server_that_is_killed_is_replaced(tmp_path, right, victim):
    """Killed midway, it costs time only."""
    folder = write(tmp_path / "class", **{f"s{i}": right for i in range(16)})
    out = tmp_path / "out"
    running = classes.start(folder, out, "--jobs", "2")
    log = out / "results.jsonl"
    while running.poll() is None and (not log.exists() or log.read_bytes().count(b"\n") < 3):
        time.sleep(0.01)
    # The first is the server itself; those forked from it have the same command line.
    next(
        process
        for process in psutil.Process(running.pid).children(recursive=True)
        if victim in process.cmdline() and process.name() != "bwrap"
    ).kill()
    assert running.communicate()[1] is not None
    assert running.returncode == 0
    assert {row["verdict"] for row in classes.rows(out).values()} == {"pass"}


@pytest.mark.tool("bwrap")
def test_large_files_with_large_reports(tmp_path, right):
    """Neither the next file nor the report fits into a socket: nobody may wait for the other."""
    large = right + 'print("x" * 1_000_000)\n' + f"# {'-' * 78}\n" * 9000
    folder = write(tmp_path / "class", **{f"s{i}": large for i in range(6)})
    status, said = classes.grade(folder, tmp_path / "out", "--jobs", "2")
    assert status == 0, said
    assert {row["verdict"] for row in classes.rows(tmp_path / "out").values()} == {"pass"}


@pytest.mark.tool("bwrap")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_the_corpus_as_a_class(tmp_path, turn):
    """In any order, two at a time, each file gets the verdict and the mistake it gets alone."""
    chance = random.Random(f"{turn} {time.time()}")  # noqa: S311 - an order, no secret
    names = [name for name in CASES if name not in SLOW]
    slow = SLOW if ROUNDS > 1 else ["207_loop_at_import.py"]
    chosen = chance.sample(names, int(SHARE * len(names))) + slow
    chance.shuffle(chosen)
    folder = tmp_path / "class"
    folder.mkdir()
    for i, name in enumerate(chosen):
        (folder / f"s{i:03}").mkdir()
        shutil.copy(HERE / "submissions" / name, folder / f"s{i:03}" / "cube.py")
    status, said = classes.grade(folder, tmp_path / "out", "--jobs", "2")
    assert status == 0, said
    found = classes.reports(tmp_path / "out")
    for i, name in enumerate(chosen):
        report = found[f"s{i:03}"]
        mistakes = [d["mistake"] for d in report["diagnoses"]]
        got = [report["verdict"], mistakes[0] if mistakes else None]
        # A few files change their name of a mistake with the seed: alone they do so, too.
        assert got == CASES[name] or got == alone(name, report["seed"]), name


def alone(name, seed):
    """Verdict and main mistake of one file that is graded alone with this seed."""
    report = grade(HERE / "submissions" / name, seed=seed)
    return [report.verdict, report.diagnoses[0].mistake if report.diagnoses else None]
