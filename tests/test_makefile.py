"""The Makefile, as far as it can be seen without installing anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, require_tool

TEXT = (ROOT / "Makefile").read_text("utf-8")


@pytest.fixture
def make(tmp_path):
    """Return a function that runs make in a copy of the repository's outer files."""
    program = require_tool("make")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *arguments],
            cwd=tmp_path,
            # Tests may run under make themselves; the one under test is not its child.
            env={
                k: v for k, v in os.environ.items() if k not in ("MAKELEVEL", "MAKEFLAGS", "MFLAGS")
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def ready(tmp_path):
    """Pretend that everything is installed: a Python that prints its arguments."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    python.chmod(0o755)
    for name in ("grade", "test", "instructor", "loop"):
        (tmp_path / ".venv" / f"ready-{name}").touch()


def fake_python(tmp_path, script: str) -> str:
    python = tmp_path / "fake-python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return f"PYTHON={python}"


def own_lines(run: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in run.stderr.splitlines() if not line.startswith("make: ***")]


def test_help_is_the_default_and_lists_every_target_in_one_line(make):
    run = make()
    phony = re.findall(r"^\.PHONY: (.*)$", TEXT, re.MULTILINE)
    targets = {name for line in phony for name in line.split() if "/" not in name}
    assert {line.split()[1] for line in run.stdout.splitlines()} == targets
    assert max(map(len, run.stdout.splitlines())) <= 80


def test_an_up_to_date_grade_starts_python_at_once(make, ready):
    assert make("grade").stdout == "<-m><grader><grade>"


@pytest.mark.parametrize("name", ["a b.py", "it's.py", '"$HOME"`x`.py', "-v.py", "$(shell x)"])
def test_any_file_name_reaches_the_grader_as_it_is(make, ready, name):
    run = make("grade", f"FILE={name}", "ARGS=--seed 1")
    assert run.stdout == f"<-m><grader><grade><--seed><1><--><{name}>"


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["watch", "FILE=a b.py"], "<watch><--><a b.py>"),
        (["hint", "ARGS=--again"], "<hint><--again>"),
        (["plot", "ARGS=--out p.svg"], "<plot><--out><p.svg>"),
        (["reset"], "<reset>"),
        (["reset", "FORCE=1", "FILE=f.py"], "<reset><--force><--><f.py>"),
        (["solution", "ARGS=--give-up"], "<solution><--give-up>"),
        (["doctor"], "<doctor>"),
    ],
)
def test_a_target_is_the_command_of_its_name(make, arguments, command):
    assert make(*arguments).stdout == f"<-m><grader>{command}"


def test_the_doctor_comes_without_an_installation(make, tmp_path):
    assert make("doctor", fake_python(tmp_path, 'echo "$@"')).stdout == "-m grader doctor\n"


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_a_change_of_what_is_needed_installs_anew(make, tmp_path, changed):
    later = (tmp_path / ".venv" / "ready-grade").stat().st_mtime + 10
    os.utime(tmp_path / changed, (later, later))
    assert "pip install" in make("-n", "grade").stdout


def test_no_python_is_one_line(make):
    run = make("grade", "PYTHON=no-such-python")
    (line,) = own_lines(run)
    assert run.returncode == 2
    assert "install Python 3.11 or newer" in line


def test_an_old_python_is_one_line(make, tmp_path):
    script = 'case "$*" in *version_info*) exit 1;; -V) echo Python 3.9.2;; esac'
    (line,) = own_lines(make("grade", fake_python(tmp_path, script)))
    assert line.startswith("Python 3.9.2 is too old: install Python 3.11 or newer")


def test_a_missing_venv_module_is_one_line(make, tmp_path):
    script = 'case "$*" in *ensurepip*) exit 1;; esac; exit 0'
    (line,) = own_lines(make("grade", fake_python(tmp_path, script)))
    assert "python3-venv" in line
    assert not (tmp_path / ".venv").exists()


#: A Python that makes a .venv whose pip fails, as it does without a network.
NO_NETWORK = """
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin"
  cat > "$3/bin/python" <<'END'
#!/bin/sh
[ "$3" = install ] || exit 0
echo "Traceback (most recent call last):"
echo "ERROR: No matching distribution found for torch"
exit 1
END
  chmod +x "$3/bin/python"
fi
"""


def test_a_failed_download_is_one_line_and_is_tried_again(make, tmp_path):
    python = fake_python(tmp_path, NO_NETWORK)
    for _ in range(2):
        announced, line = own_lines(make("grade", python))
        assert announced.startswith("Installing what grading needs")
        assert "No matching distribution found for torch" in line
        assert ".venv/setup.log" in line
        assert not (tmp_path / ".venv" / "ready-grade").exists()
    assert "Traceback" in (tmp_path / ".venv" / "setup.log").read_text()


def test_a_half_made_venv_is_made_anew(make, tmp_path):
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("unfinished", "bin/python", "left-over"):
        (tmp_path / ".venv" / name).touch()
    make("grade", fake_python(tmp_path, NO_NETWORK))
    assert not (tmp_path / ".venv" / "left-over").exists()


def test_a_venv_that_somebody_made_is_kept(make, tmp_path):
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "mine").touch()
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    python.chmod(0o755)
    assert make("grade", "PYTHON=no-such-python").stdout == "<-m><grader><grade>"
    assert (tmp_path / ".venv" / "mine").exists()


def test_clean_removes_what_make_made_and_nothing_else(make, ready, tmp_path):
    (tmp_path / "grader" / "__pycache__").mkdir(parents=True)
    (tmp_path / "mine.py").touch()
    make("clean")
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"Makefile", "pyproject.toml", "constraints.txt", "grader", "mine.py"}
