"""Where the system offers no namespaces: the same verdicts, nothing left, layers that say so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Grades the files named on its command line without namespaces, in a process of its own.
GRADE = """
import dataclasses, json, sys
from pathlib import Path
from grader import judge, service
from grader.student.forked import Nursery

def without_namespaces():
    return dataclasses.replace(Nursery.fork(), refusal="not on this system")

serve = judge.serve
judge.serve = lambda connection, _: serve(connection, without_namespaces)
process = service.JudgeProcess()
for name in sys.argv[1:]:
    report = process.grade(service.read_source(Path(name)), "cube", 3)
    print(json.dumps([report.verdict, [d.mistake for d in report.diagnoses],
        [layer.why for layer in report.isolation if not layer.on]]), flush=True)
process.close()
"""

CASES = {
    "129_setup_context.py": ("pass", None),
    "130_generate_vmap_rule_func_grad.py": ("pass", None),
    "251_non_daemon_thread.py": ("pass", "leaves-thread"),
    "001_starter_unchanged.py": ("fail", "missing-factor-3"),
    "217_os_exit_zero_at_import.py": ("fail", "early-exit"),
    "249_background_process.py": ("fail", "leaves-process"),
    "250_fork_duplicates_grader.py": ("fail", "leaves-process"),
    "254_kills_parent.py": ("fail", "kills-parent"),
    "wrong_null_pointer.py": ("fail", "crash"),
    "wrong_kill_self.py": ("fail", "kills-parent"),
    "wrong_fork_bomb.py": ("fail", "leaves-process"),
    "right_saves_clone.py": ("pass", None),
}


@pytest.fixture(scope="module")
def lines():
    import json

    files = [str(ROOT / "tests" / "submissions" / name) for name in CASES]
    done = subprocess.run(
        [sys.executable, "-c", GRADE, *files],
        cwd=ROOT, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(CASES, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", CASES)
def test_verdict(name, lines):
    verdict, mistakes, off = lines[name]
    assert verdict == CASES[name][0]
    assert (mistakes or [None])[0] == CASES[name][1]
    assert "not on this system" in off or CASES[name][1] == "kills-parent"


def test_no_process_is_left(lines):
    import psutil

    assert lines
    left = [p.info for p in psutil.process_iter(["cmdline"]) if "left_behind" in str(p.info)]
    assert left == []
