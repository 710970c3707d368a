"""`grader watch` as a person uses it: files saved, keys pressed, the screen read."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest
from conftest import ROOT, grader

from grader.watch.session import progress

pytest.importorskip("termios")
from terminal import Terminal

LOOP = "while True:\n    pass\n"


@pytest.fixture
def watch(kit):
    """Return a function that watches starter/cube.py in a terminal."""
    opened = []

    def start(**size: int) -> Terminal:
        opened.append(Terminal("watch", cwd=kit, **size))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def rename_into(place, text: str) -> None:
    """Save as many editors do: write another file, then rename it."""
    new = place.with_suffix(".tmp")
    new.write_text(text)
    new.replace(place)


def all_gone(family: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(family, timeout=2)
    return not alive


def test_a_report_replaces_the_last_one_and_names_the_progress(watch, kit):
    file = kit / "starter" / "cube.py"
    terminal = watch()
    first = terminal.until("q quit")
    assert first.startswith("FAIL  2 of 10  starter/cube.py")
    assert "FAIL  2 of 5 checks" in first
    assert "s solution" not in first

    rename_into(file, (ROOT / "solution/cube.py").read_text())
    second = terminal.until("5 of 5 checks, up from 2", seconds=5)
    assert second.startswith("PASS  10 of 10  starter/cube.py")
    assert "FAIL" not in second
    assert second.splitlines()[-1].startswith("starter/cube.py  ")
    assert second.endswith("h hint  d changes  s solution  r run again  q quit")

    terminal.press("d")
    changes = terminal.until("+++ this run")
    assert "-        return grad_out * x**2" in changes
    assert "+        return grad_out * 3 * x**2" in changes
    terminal.press("h")
    terminal.until("nothing to hint at")
    terminal.press("s")
    terminal.until("Your file is the same.")

    family = terminal.family()
    terminal.press("q")
    assert terminal.ended() == 0
    assert all_gone(family)
    assert terminal.echoes()
    assert terminal.raw.endswith(b"\x1b[?25h")  # the cursor is back


def test_keys_while_the_file_fails(watch, kit):
    terminal = watch()
    terminal.until("q quit")
    terminal.press("h")
    terminal.until("Hint 1 of")
    terminal.press("h")
    screen = terminal.until("Hint 2 of")
    assert "Hint 1 of" not in screen
    terminal.press("s")
    screen = terminal.until("shown once the file passes")
    assert "3 * x**2" not in screen
    terminal.press("d")
    terminal.until("Nothing changed since the last run")
    terminal.press("x\x1b[A")  # neither an unknown key nor an arrow does anything
    terminal.press("r")
    screen = terminal.until("2 of 5 checks, as before")
    assert "Nothing changed" not in screen


def test_a_file_that_is_deleted_and_comes_back(watch, kit):
    file = kit / "starter" / "cube.py"
    text = file.read_text()
    terminal = watch(rows=20, columns=60)
    screen = terminal.until("q quit")
    assert "FAIL  2 of 5 checks" in screen  # on the low and narrow terminal, too
    file.unlink()
    terminal.until("starter/cube.py is gone")
    file.write_text(text)
    terminal.until("2 of 5 checks, as before")
    # With the folder, its events are gone as well.
    shutil.rmtree(file.parent)
    terminal.until("starter/cube.py is gone")
    file.parent.mkdir()
    file.write_text((ROOT / "solution/cube.py").read_text())
    terminal.until("5 of 5 checks, up from 2")


@pytest.mark.parametrize("key", ["q", "\x03"], ids=["q", "ctrl-c"])
def test_a_submission_that_loops_can_be_left_at_once(watch, kit, key):
    (kit / "starter" / "cube.py").write_text(LOOP)
    terminal = watch()
    terminal.until("checking starter/cube.py")
    deadline = time.monotonic() + 10
    while len(family := terminal.family()) < 5:  # it, judge, nursery, warden, student
        assert time.monotonic() < deadline
    terminal.press(key)
    assert terminal.ended() == 0
    assert all_gone(family)
    assert terminal.echoes()
    assert not list((kit / "tmp").iterdir())


def test_a_save_ends_a_submission_that_loops(watch, kit):
    file = kit / "starter" / "cube.py"
    terminal = watch()
    terminal.until("q quit")
    file.write_text(LOOP)
    terminal.until("checking starter/cube.py")
    file.write_text((ROOT / "solution/cube.py").read_text())
    # Had the loop run up to its limit, its report would have come in between.
    terminal.until("5 of 5 checks, up from 2")


def test_without_a_terminal_reports_are_plain_lines(kit):
    file = kit / "starter" / "cube.py"
    command = [sys.executable, "-m", "grader", "watch"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    with subprocess.Popen(
        command, cwd=kit, env=environment, stdout=subprocess.PIPE, encoding="utf-8"
    ) as watch:
        lines = []

        def until(end: str) -> None:
            while not lines or not lines[-1].rstrip().endswith(end):
                lines.append(watch.stdout.readline())

        until("2 of 5 checks")
        rename_into(file, (ROOT / "solution/cube.py").read_text())
        until("5 of 5 checks, up from 2")
        family = [psutil.Process(watch.pid), *psutil.Process(watch.pid).children(recursive=True)]
        watch.send_signal(signal.SIGINT)
        assert watch.wait(5) == 0
    assert all_gone(family)
    assert "\x1b" not in "".join(lines)


def test_a_file_that_is_not_there_is_wrong_usage(kit):
    run = grader("watch", "nowhere.py", cwd=kit)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "grader: there is no file nowhere.py to watch\n"


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (None, 2, "2 of 4 checks"),
        (1, 2, "2 of 4 checks, up from 1"),
        (3, 2, "2 of 4 checks, down from 3"),
        (2, 2, "2 of 4 checks, as before"),
    ],
)
def test_progress_in_words(make_report, before, now, words):
    previous = None if before is None else make_report(before)
    assert progress(previous, make_report(now)) == words


@pytest.fixture
def make_report():
    from grader.records import CheckResult, Report

    def make(passed: int) -> Report:
        checks = tuple(
            CheckResult(str(i), "", "pass" if i < passed else "fail", 0, 1) for i in range(4)
        )
        return Report("cube", "cube.py", "fail", 0, 10, checks, (), seed=1, seconds=0)

    return make
