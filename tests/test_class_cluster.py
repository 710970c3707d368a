"""A class on a real Dask scheduler with two worker processes, one of which is killed midway."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("distributed")
pytestmark = [pytest.mark.tool("bwrap"), pytest.mark.timeout(240)]


@contextlib.contextmanager
def process(*words, **options):
    """A process that is gone at the end."""
    running = subprocess.Popen(words, start_new_session=True, **options)
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def grade(root, submissions, out, *more):
    command = [sys.executable, "-m", "grader", "class", submissions, "--out", out, "--seed", "5"]
    return subprocess.Popen([*command, *more], cwd=root, stderr=subprocess.DEVNULL)


def results(out):
    """The results without what differs from run to run."""
    lines = (out / "results.jsonl").read_text("utf-8").splitlines()
    return [{**json.loads(line), "seconds": 0} for line in lines]


def test_a_worker_that_dies_loses_nothing(root, tmp_path):
    submissions = tmp_path / "submissions"
    submissions.mkdir()
    files = sorted((root / "tests/submissions").glob("00*.py"))[:6]
    for i in range(5):
        for file in [*files, root / "solution/cube.py"]:
            shutil.copy(file, submissions / f"{file.stem}_{i}.py")
    here, there = tmp_path / "here", tmp_path / "there"
    with contextlib.ExitStack() as stack:
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
        scheduler = stack.enter_context(
            process(*dask, "--port", "0", "--no-dashboard", stderr=subprocess.PIPE, text=True)
        )
        address = next(
            found[0] for line in scheduler.stderr if (found := re.search(r"tcp://[\d.]+:\d+", line))
        )
        workers = [
            stack.enter_context(
                process(
                    *(sys.executable, "-m", "distributed.cli.dask_worker", address),
                    *("--nthreads", "1", "--no-dashboard", "--no-nanny"),
                    *("--local-directory", tmp_path / f"worker{i}"),
                    cwd=root,
                    stderr=subprocess.DEVNULL,
                )
            )
            for i in range(2)
        ]
        time.sleep(4)
        run = grade(root, submissions, there, "--scheduler", address)
        log = there / "results.jsonl"
        while run.poll() is None and (not log.exists() or log.read_bytes().count(b"\n") < 5):
            time.sleep(0.05)
        os.killpg(workers[0].pid, signal.SIGKILL)
        assert run.wait() == 0
    assert grade(root, submissions, here, "--jobs", "2").wait() == 0
    assert results(there) == results(here)
