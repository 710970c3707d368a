"""The ladder of hints."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from conftest import grader

from grader import grade, hints
from grader.cli import main
from grader.memory import Memory
from grader.records import Diagnosis, Report


def report(mistake="", rungs=("a", "b", "c")):
    diagnosis = Diagnosis(mistake, "error", "T", "why", "", None, rungs[0] if rungs else "", rungs)
    verdict = "fail" if mistake else "pass"
    found = (diagnosis,) if mistake else ()
    return Report("cube", "cube.py", verdict, 0, 10, (), found, seed=1, seconds=0)


def test_each_call_gives_the_next_rung_and_the_last_one_stays():
    memory = Memory()
    seen = [hints.climb(report("m"), memory) for _ in range(4)]
    assert [(h.number, h.count, h.text) for h in seen] == [
        (1, 3, "a"),
        (2, 3, "b"),
        (3, 3, "c"),
        (3, 3, "c"),
    ]


def test_again_repeats_and_first_starts_anew():
    memory = Memory("m", rungs=2)
    assert hints.climb(report("m"), memory, "again").text == "b"
    assert hints.climb(report("m"), memory, "first").text == "a"
    assert hints.climb(report("m"), memory).text == "b"
    assert hints.climb(report("m"), Memory(), "again").text == "a"  # none was given before


def test_another_mistake_starts_its_own_ladder():
    memory = Memory("m", rungs=2)
    assert hints.climb(report("other"), memory).number == 1
    assert hints.climb(report("m"), memory).number == 1


def test_a_pass_needs_no_hint_and_a_mistake_without_ladder_has_one():
    assert hints.climb(report(), Memory()) is None
    assert hints.climb(report("m", ()), Memory()).text == "why"


@pytest.fixture
def hint(monkeypatch, kit):
    """Return a function that runs the command with a report that is there already."""
    monkeypatch.chdir(kit)

    def run(seen: Report, *options: str) -> str:
        monkeypatch.setattr("grader.commands.hint.graded", lambda path, exercise: seen)
        result = CliRunner().invoke(main, ["hint", *options])
        assert result.exit_code == 0
        return result.stdout

    return run


def test_the_command_remembers_the_rung(hint):
    runs = [hint(report("m"), *options) for options in ((), ("--again",), (), ("--reset",))]
    assert [run.split(":")[0] for run in runs] == [f"Hint {n} of 3" for n in (1, 1, 2, 1)]
    assert hint(report()) == "The file passes: there is nothing to hint at.\n"
    assert hint(report("m")).startswith("Hint 2 of 3")


def test_the_starter_has_a_ladder_that_never_tells_the_answer(kit):
    run = grader("hint", cwd=kit)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Hint 1 of 4: The factor 3 of the derivative is missing\n")
    (remembered,) = json.loads((kit / ".grader/memory.json").read_text()).values()
    assert remembered["mistake"] == "missing-factor-3"

    ladder = grade(kit / "starter/cube.py").diagnoses[0].hints
    assert not any("3 *" in rung or "* 3" in rung for rung in ladder)


@pytest.mark.parametrize("state", ["", "[]", '{"x": 1}', "\x00"])
def test_a_spoilt_memory_is_no_memory(kit, monkeypatch, state):
    from grader import memory

    monkeypatch.chdir(kit)
    memory.STATE.parent.mkdir()
    memory.STATE.write_text(state)
    file = kit / "starter/cube.py"
    assert memory.recall(file) == Memory()
    memory.remember(file, Memory("m", 1))
    assert memory.recall(file) == Memory("m", 1)
