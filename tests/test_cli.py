"""The command line as other programs rely on it: exit status, JSON, seeds, bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).parents[1]
SUBMISSIONS = ROOT / "tests" / "submissions"
SCHEMA = json.loads((ROOT / "grader" / "render" / "report.schema.json").read_text("utf-8"))


def run(*args, cwd=ROOT, **environment):
    return subprocess.run(
        [sys.executable, "-m", "grader", *map(str, args)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        timeout=120,
        check=False,
    )


def test_the_untouched_starter_fails_with_its_planted_mistake():
    done = run("grade")
    assert done.returncode == 1
    assert done.stdout.startswith("FAIL  2 of 10  starter/cube.py\n")
    assert "The factor 3 of the derivative is missing" in done.stdout
    assert "return grad_out * x**2" in done.stdout
    assert "grad_out * 3 * x**2" not in done.stdout
    assert "printed" not in done.stdout
    assert done.stderr == ""


def test_the_solution_passes_with_full_points():
    done = run("grade", "solution/cube.py")
    assert done.returncode == 0
    assert done.stdout.startswith("PASS  10 of 10  solution/cube.py\n")
    assert "Well done" in done.stdout
    assert done.stderr == ""


def test_text_has_80_columns_and_no_colour_without_a_terminal():
    done = run("grade")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout


def test_text_is_ascii_where_the_encoding_is():
    done = run("grade", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 1
    assert done.stdout.isascii()


def test_json_is_one_object_of_the_documented_shape():
    done = run("grade", "--json", "--seed", 5)
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    assert done.returncode == 1
    assert report["schema"] == 1
    assert report["seed"] == 5
    assert [c["name"] for c in report["checks"]] == [
        "load", "forward", "cube_grad", "backward", "contract",
    ]  # fmt: skip
    assert [c["status"] for c in report["checks"]] == ["pass", "pass", "fail", "fail", "skipped"]
    assert report["diagnoses"][0]["mistake"] == "missing-factor-3"
    assert report["diagnoses"][0]["line"]["text"].strip() == "return grad_out * x**2"
    assert all(layer["why"] for layer in report["isolation"])


def bad_inputs(tmp_path):
    (tmp_path / "large.py").write_bytes(b"# " + b"x" * 10_000_000)
    (tmp_path / "locked").mkdir()
    return {
        "nothing.py": ("unreadable-file", "no file of this name"),
        "locked": ("unreadable-file", "a folder"),
        "large.py": ("file-too-large", "10.0 MB"),
    }


@pytest.mark.parametrize("name", ["nothing.py", "locked", "large.py"])
def test_bad_input_gives_the_same_object_and_exit_1(name, tmp_path):
    mistake, words = bad_inputs(tmp_path)[name]
    done = run("grade", tmp_path / name, "--json")
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    assert done.returncode == 1
    assert report["verdict"] == "fail"
    assert report["score"] == 0
    assert report["diagnoses"][0]["mistake"] == mistake
    assert words in report["diagnoses"][0]["explanation"]


@pytest.mark.parametrize(
    "args",
    [
        ["grade", "--seed", "many"],
        ["grade", "--exercise", "sphere"],
        ["grade", "a.py", "b.py"],
        ["grades"],
        ["grade", "--junit", "/nowhere/at/all.xml"],
    ],
)
def test_wrong_usage_is_exit_2_with_a_line_that_says_so(args):
    done = run(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


def test_junit_is_written_beside_the_text(tmp_path):
    done = run("grade", "--junit", tmp_path / "report.xml")
    assert done.returncode == 1
    assert "<testcase" in (tmp_path / "report.xml").read_text("utf-8")
    assert done.stdout.startswith("FAIL")


def test_advice_costs_nothing_unless_strict():
    file = SUBMISSIONS / "057_ctx_attribute.py"
    lenient, strict = run("grade", file, "--json"), run("grade", file, "--json", "--strict")
    assert (lenient.returncode, strict.returncode) == (0, 1)
    assert json.loads(lenient.stdout)["score"] == 10
    assert json.loads(strict.stdout)["verdict"] == "fail"


def test_the_same_seed_gives_the_same_report():
    def report(seed):
        data = json.loads(run("grade", "--json", "--seed", seed).stdout)
        del data["seconds"]
        return data

    assert report(11) == report(11)
    assert report(11) != report(12)


def test_the_worked_example_can_be_graded():
    file = SUBMISSIONS.parent / "square.py"
    done = run("grade", file, "--exercise", "square")
    assert done.returncode == 0, done.stdout


def test_help_names_every_command_in_one_line():
    done = run("--help")
    assert done.returncode == 0
    assert "grade" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_technical_text_is_shown_only_on_request():
    file = SUBMISSIONS / "064_instance_call.py"
    assert "https://" not in run("grade", file).stdout
    assert "Legacy autograd function" in run("grade", file, "--verbose").stdout
