"""`grader reset` and `grader solution`."""

from __future__ import annotations

import shutil
import subprocess
from datetime import datetime

import pytest
from conftest import ROOT, grader

from grader import handout

MINE = b"# mine\n"


def test_the_safe_copy_is_the_starter_that_git_knows():
    git = shutil.which("git")
    if not git or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = [git, "show", ":starter/cube.py"]
    known = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    assert handout.starter("cube") == known


def test_reset_keeps_the_present_file_under_a_dated_name(kit):
    file = kit / "starter" / "cube.py"
    file.write_bytes(MINE)
    run = grader("reset", "--force", cwd=kit)
    assert run.returncode == 0, run.stderr
    (kept,) = file.parent.glob("cube-20*.py")
    assert kept.read_bytes() == MINE
    assert file.read_bytes() == handout.starter("cube")
    assert run.stdout == (
        f"starter/cube.py is the starter again. Your file is {kept.relative_to(kit)}.\n"
    )
    assert "already" in grader("reset", "--force", cwd=kit).stdout


def test_two_resets_in_one_second_keep_both_files(tmp_path):
    file, now = tmp_path / "cube.py", datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - as shown
    kept = []
    for text in (b"one", b"two"):
        file.write_bytes(text)
        kept.append(handout.put_back(file, b"starter", now))
    assert [path.name for path in kept] == [
        "cube-2026-01-02-030405.py",
        "cube-2026-01-02-030405-2.py",
    ]
    assert [path.read_bytes() for path in kept] == [b"one", b"two"]


def test_reset_brings_a_missing_file_back_unasked(kit):
    shutil.rmtree(kit / "starter")
    assert grader("reset", cwd=kit).returncode == 0
    assert (kit / "starter/cube.py").read_bytes() == handout.starter("cube")


def test_without_a_terminal_reset_needs_force(kit):
    (kit / "starter/cube.py").write_bytes(MINE)
    run = grader("reset", cwd=kit)
    assert run.returncode == 2
    assert "--force" in run.stderr
    assert (kit / "starter/cube.py").read_bytes() == MINE


def test_an_exercise_without_starter_is_wrong_usage(kit):
    run = grader("reset", "--exercise", "square", cwd=kit)
    assert (run.returncode, run.stderr) == (2, "grader: the exercise square has no starter\n")


@pytest.mark.parametrize(("key", "changed"), [("n", False), ("\r", False), ("y", True)])
def test_on_a_terminal_reset_asks(kit, key, changed):
    pytest.importorskip("termios")
    from terminal import Terminal

    (kit / "starter/cube.py").write_bytes(MINE)
    terminal = Terminal("reset", cwd=kit)
    terminal.until("Your file is kept [y/N]:")
    terminal.press(key if key == "\r" else f"{key}\r")
    assert terminal.ended() == 0
    terminal.close()
    assert ((kit / "starter/cube.py").read_bytes() != MINE) is changed


def test_the_solution_waits_for_a_pass(kit):
    run = grader("solution", cwd=kit)
    assert run.returncode == 1
    assert run.stdout.startswith("The solution is shown once the file passes")
    assert "3 * x**2" not in run.stdout

    text = (kit / "solution/cube.py").read_text("utf-8")
    (kit / "starter/cube.py").write_text(text.replace("grad_out * 3 * x**2", "3 * x**2 * grad_out"))
    run = grader("solution", cwd=kit)
    assert run.returncode == 0, run.stderr
    assert "  def cube_grad(x: torch.Tensor)" in run.stdout
    assert "-        return 3 * x**2 * grad_out\n+        return grad_out * 3 * x**2" in run.stdout


def test_giving_up_has_to_be_said_twice_and_reset_forgets_it(kit):
    first, second = (grader("solution", "--give-up", cwd=kit) for _ in range(2))
    assert (first.returncode, second.returncode) == (1, 0)
    assert "3 * x**2" not in first.stdout
    assert "+        return grad_out * 3 * x**2" in second.stdout
    (kit / "starter/cube.py").write_bytes(MINE)
    grader("reset", "--force", cwd=kit)
    assert grader("solution", "--give-up", cwd=kit).returncode == 1


def test_a_kit_without_solution_says_so(kit):
    shutil.rmtree(kit / "solution")
    run = grader("solution", cwd=kit)
    assert run.returncode == 2
    assert "no solution/cube.py here" in run.stderr
