"""The autograder zip, unpacked and run in Gradescope's layout."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import zipfile

import pytest

#: What a result may hold, from Gradescope's autograder specifications.
TOP = {
    *("score", "execution_time", "output", "output_format", "test_output_format"),
    *("test_name_format", "visibility", "stdout_visibility", "extra_data", "tests", "leaderboard"),
}
TEST = {
    *("score", "max_score", "status", "name", "name_format", "number", "output"),
    *("output_format", "tags", "visibility", "extra_data"),
}
VISIBILITY = {"hidden", "after_due_date", "after_published", "visible"}


@pytest.fixture(scope="module")
def autograder(root, tmp_path_factory):
    """Build the zip and unpack it as Gradescope does: its content in source/."""
    spec = importlib.util.spec_from_file_location("build", root / "autograder/build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    place = tmp_path_factory.mktemp("gradescope")
    build.build(place / "a.zip")
    build.build(place / "b.zip")
    assert (place / "a.zip").read_bytes() == (place / "b.zip").read_bytes()
    top = place / "autograder"
    with zipfile.ZipFile(place / "a.zip") as archive:
        archive.extractall(top / "source")
    for folder in ("submission", "results"):
        (top / folder).mkdir()
    (top / "run_autograder").write_bytes((top / "source/run_autograder").read_bytes())
    (top / "run_autograder").chmod(0o755)
    (top / "venv").symlink_to(sys.prefix)  # what setup.sh would have made
    return top


def grade(autograder, **files):
    for old in (autograder / "submission").iterdir():
        old.unlink()
    for name, text in files.items():
        (autograder / "submission" / f"{name}.py").write_text(text, "utf-8")
    subprocess.run([autograder / "run_autograder"], check=True, cwd="/")
    results = json.loads((autograder / "results/results.json").read_text("utf-8"))
    assert results.keys() <= TOP
    assert results["visibility"] in VISIBILITY
    assert results["stdout_visibility"] in VISIBILITY
    for test in results["tests"]:
        assert test.keys() <= TEST
        assert test["visibility"] in VISIBILITY
        assert test.get("status") in ("passed", "failed")
    assert sum(test.get("score", 0) for test in results["tests"]) == results["score"]
    return results


def test_scripts_can_run(autograder):
    with zipfile.ZipFile(autograder.parent / "a.zip") as archive:
        for name in ("setup.sh", "run_autograder"):
            assert archive.getinfo(name).external_attr >> 16 & 0o111
    subprocess.run(["/bin/sh", "-n", autograder / "source/setup.sh"], check=True)


def test_full_points(autograder, root):
    results = grade(autograder, cube=(root / "solution/cube.py").read_text("utf-8"))
    assert results["score"] == 10
    assert sum(test.get("max_score", 0) for test in results["tests"]) == 10


def test_partial_score_with_a_reason(autograder, root):
    results = grade(autograder, my_cube=(root / "starter/cube.py").read_text("utf-8"))
    assert results["score"] == 2
    assert "factor 3" in results["output"]
    hidden = [test for test in results["tests"] if test["visibility"] == "hidden"]
    assert any("limits: on" in test["output"] for test in hidden)


def test_the_wrong_files(autograder):
    results = grade(autograder, a="x = 1", b="y = 2")
    assert results["score"] == 0
    assert "a.py, b.py" in results["output"]
