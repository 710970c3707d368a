"""`grader doctor`, what it says without torch, and the other commands' help."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT, grader

from grader import doctor
from grader.cli import COMMANDS, main


def test_a_fit_machine(kit):
    run = grader("doctor", cwd=kit)
    assert run.returncode == 0, run.stdout
    lines = run.stdout.splitlines()
    for what in ("Python: 3.", "torch: 2.", "numpy: 2.", "a trial run: the starter was graded"):
        assert any(line.startswith(f"ok       {what}") for line in lines), what
    assert "isolation: own process" in run.stdout
    assert "bubblewrap: " in run.stdout


def without_packages(folder: Path, *but: str) -> subprocess.CompletedProcess[str]:
    """Run the doctor in a Python that has no package except these."""
    for name in but:
        (place,) = importlib.util.find_spec(name).submodule_search_locations
        (folder / name).symlink_to(place)
    code = f"import sys; sys.path[:0] = {[str(ROOT), str(folder)]}; sys.argv[1:] = ['doctor']; "
    code += "import runpy; runpy.run_module('grader', run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def test_without_torch_it_says_what_to_do(tmp_path):
    run = without_packages(tmp_path, "click")
    assert (run.returncode, run.stderr) == (2, "")
    assert "MISSING  packages: torch, numpy, safetensors, rich, psutil, junitparser" in run.stdout
    assert "make setup" in run.stdout
    assert "note     watch and plot: watchfiles, plotext, matplotlib not installed" in run.stdout


def test_without_anything_one_line_says_what_to_do(tmp_path):
    run = without_packages(tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("grader: click is not installed. Run make setup")
    assert run.stderr.count("\n") == 1


def test_it_asks_for_what_the_project_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    def names(requirements):
        return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}

    assert set(doctor.NEEDED) == names(project["dependencies"])
    assert set(doctor.LOOP) == names(project["optional-dependencies"]["loop"])


@pytest.mark.parametrize("command", ["watch", "plot", "grade"])
def test_without_the_extra_one_line_says_how_to_get_it(monkeypatch, command):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    options = ["--plot", "p.png"] if command == "grade" else []
    run = CliRunner().invoke(main, [command, *options])
    assert run.exit_code == 2
    assert run.stderr.startswith("grader: this needs ")
    assert "pip install -e '.[loop]'" in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_help_text(command):
    run = CliRunner().invoke(main, [command, "--help"])
    assert run.exit_code == 0
    assert max(map(len, run.stdout.splitlines())) <= 80
