"""The way for Windows and macOS, forced here: judge and student in interpreters of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from grader.service import JudgeProcess, read_source
from grader.source import Source

ROOT = Path(__file__).parents[1]
SUBMISSIONS = ROOT / "tests" / "submissions"
MANIFEST = json.loads((SUBMISSIONS / "manifest.json").read_text("utf-8"))
CASES = (
    "129_setup_context.py",
    "130_generate_vmap_rule_func_grad.py",
    "right_saves_clone.py",
    "001_starter_unchanged.py",
    "217_os_exit_zero_at_import.py",
    "wrong_null_pointer.py",
    "wrong_raise_value.py",
    "213_stdout_flood.py",
    "164_prints_at_import.py",
    "199_asks_for_input.py",
    "249_background_process.py",
    "250_fork_duplicates_grader.py",
    "208_loop_in_backward.py",
)

HOARD = b"""
import time
import torch
hoard = torch.ones(1 << 29)
time.sleep(20)
"""

KILLS_AND_LOOPS = b"""
import os, signal
os.kill(os.getppid(), signal.SIGKILL)
while True:
    pass
"""

#: Imports every module of the kit, then again as if this were Windows.
IMPORT_ALL = """
import importlib, os, pkgutil, signal, socket, sys
import grader

GONE = {
    os: ("fork", "forkpty", "pidfd_open", "wait4", "waitid", "getsid", "setsid", "nice",
         "geteuid", "getegid", "O_CLOEXEC", "WNOHANG"),
    socket: ("send_fds", "recv_fds", "AF_UNIX"),
    signal: ("SIGKILL", "SIGCHLD", "SIGHUP", "SIGCONT", "SIGXCPU", "SIGPIPE", "pthread_kill"),
}

def import_all():
    names = ["grader"]
    names += [m.name for m in pkgutil.walk_packages(grader.__path__, "grader.", lambda _: None)]
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in ("nbgrader", "nbconvert", "nbformat", "traitlets", "distributed",
                                  "matplotlib", "plotext", "watchfiles", "jupyter_client"):
                raise
    return names

import_all()  # so that all packages are here
for name in [name for name in sys.modules if name.partition(".")[0] == "grader"]:
    del sys.modules[name]
for module, names in GONE.items():
    for name in names:
        delattr(module, name)
for name in ("resource", "fcntl", "termios", "tty", "pty", "pwd", "grp"):
    sys.modules[name] = None
sys.platform = "win32"
print(*import_all())
"""


def left_in(folder):
    """Return the processes whose temporary files would lie in `folder`."""
    left = []
    for process in psutil.process_iter():
        try:
            theirs = process.environ().get("TMPDIR", "").startswith(f"{folder}/")
        except psutil.Error:
            continue
        if theirs and process.status() != psutil.STATUS_ZOMBIE:
            left.append(process.cmdline())
    return left


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("temporary")
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", None)
        yield folder


@pytest.fixture(scope="module")
def judge(folder):
    judge = JudgeProcess(fork=False)
    yield judge
    judge.close()


@pytest.mark.parametrize("name", CASES)
def test_verdict(name, judge, folder):
    report = judge.grade(read_source(SUBMISSIONS / name), "cube", 3)
    found = [diagnosis.mistake for diagnosis in report.diagnoses]
    assert [report.verdict, (found or [None])[0]] == MANIFEST[name]
    off = {layer.name: layer.why for layer in report.isolation if not layer.on}
    assert set(off) == {"process namespace", "no network", "read-only files"}
    assert all("second interpreter" in why for why in off.values())


def test_memory_is_watched(judge):
    report = judge.grade(Source("hoard", HOARD), "cube", 3)
    assert "took more memory than allowed" in report.checks[0].message


def test_the_student_goes_when_the_judge_is_gone(judge, folder):
    report = judge.grade(Source("kills", KILLS_AND_LOOPS), "cube", 3)
    assert (report.verdict, report.diagnoses[0].mistake) == ("fail", "kills-parent")
    deadline = time.monotonic() + 10
    while (left := left_in(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []


def test_a_judge_is_closed_in_the_midst_of_its_work(judge, folder):
    judge.close()  # and with it the interpreter that waits for the next student
    judge.submit(Source("loop", b"while True: pass"), "cube", 3)
    deadline = time.monotonic() + 60
    while not list(folder.glob("*/work/cube.py")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left_in(folder)
    judge.close()
    assert left_in(folder) == []


def test_nothing_is_left(judge, folder):
    judge.close()
    assert left_in(folder) == []
    assert list(folder.iterdir()) == []


def test_all_modules_import_where_there_is_no_fork():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        cwd=ROOT, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {"grader.judge", "grader.student.nursery", "grader.watch.session"} <= set(
        done.stdout.split()
    )
