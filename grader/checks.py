"""The checks in teaching order, and how what was observed earns points.

Asking and judging are two steps: `observe` puts every question to the student's
process, `judge` turns the answers into results. Nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from grader.gradcheck import gradcheck
from grader.questions import TOLERANCE, Examiner, Finding, Outcome, ask, ask_all
from grader.records import CheckResult, Exercise
from grader.student.process import Answer, Student, StudentEnded


@dataclass(frozen=True)
class Check:
    """One check: its name in reports, what it promises, and what it rests on."""

    name: str
    title: str
    max_points: float
    rests_on: tuple[str, ...]


#: `{c}`, `{h}` and `{f}` stand for the exercise's class, helper and formula.
CHECKS = (
    Check("load", "The file loads and defines {c} and {h}", 0, ()),
    Check("forward", "{c}.apply(x) is {f}: values, shape, dtype", 2, ("load",)),
    Check("helper", "{h}(x) is the gradient of {c}.apply(x).sum()", 3, ("forward",)),
    Check("backward", "backward, for random grad_output and in gradcheck", 3, ("forward",)),
    Check(
        "contract", "The contract: nothing changed, all shapes, dtypes, graphs", 2, ("backward",)
    ),
)
MAX_SCORE = sum(check.max_points for check in CHECKS)


def public_name(name: str, exercise: Exercise) -> str:
    """The name of a check in reports: the helper's check bears the helper's name."""
    return exercise.helper_name if name == "helper" else name


def unchecked(exercise: Exercise, first_message: str) -> tuple[CheckResult, ...]:
    """The results when nothing could be asked: the gate failed, the rest was skipped."""
    return _results(exercise, lambda check: first_message if check.name == "load" else "")


@dataclass
class Observations:
    """All that one run has seen of a student's code."""

    exercise: Exercise
    load: Answer | None = None
    ended: StudentEnded | None = None
    forward: list[Outcome] = field(default_factory=list)
    backward: list[Outcome] = field(default_factory=list)
    contract: list[Outcome] = field(default_factory=list)
    helper: list[Outcome] = field(default_factory=list)
    #: The text of torch's complaint, "" where gradcheck passed, None where it did not run.
    gradcheck: str | None = None
    #: Where backward is wrong: its first question again, ones, and the numbers of a test by hand.
    again: Outcome | None = None
    ones: Outcome | None = None
    usual_numbers: Outcome | None = None
    second: Outcome | None = None
    changed_in_place: Outcome | None = None
    farewell: Answer | None = None
    #: Whether the code sent a signal to a process, its own or another.
    signalled: bool = False

    @property
    def loaded(self) -> bool:
        """Whether the file could be imported and defines what it should."""
        return gate_problem(self) is None

    def findings(self, name: str) -> list[Finding]:
        """What is wrong in the answers of one check."""
        return [o.finding for o in getattr(self, name) if o.finding]


def load(student: Student, exercise: Exercise, source: bytes) -> Observations:
    """Let the student's process load the file; `gate_problem` says whether it could."""
    seen = Observations(exercise)
    try:
        seen.load = student.ask(
            "load",
            source=torch.frombuffer(bytearray(source), dtype=torch.uint8),
            class_name=exercise.class_name,
            helper_name=exercise.helper_name,
        )
    except StudentEnded as ended:
        seen.ended = ended
    return seen


def observe(
    student: Student, exercise: Exercise, source: bytes, seed: Callable[[], int]
) -> tuple[Observations, int]:
    """Load the file, then ask everything; `seed` is drawn once the code has been loaded.

    The helper comes last: what it breaks should not count against Cube.
    """
    seen = load(student, exercise, source)
    number = seed()
    if not seen.loaded:
        return seen, number
    examiner = Examiner(exercise, number)
    plan = {
        name: getattr(examiner, name)() for name in ("forward", "backward", "contract", "helper")
    }
    seen.forward, seen.backward = ask_all(student, plan["forward"], plan["backward"])
    if seen.findings("backward"):
        seen.again = ask(student, plan["backward"][0])
        seen.ones = ask(student, examiner.ones())
        seen.usual_numbers = ask(student, examiner.usual_numbers())
    elif not seen.findings("forward"):
        seen.gradcheck = gradcheck(student, examiner.draw(2))
    seen.contract, seen.helper = ask_all(student, plan["contract"], plan["helper"])
    _watch_the_first_broken(student, seen.contract)
    [[seen.second], [seen.changed_in_place]] = ask_all(
        student, [examiner.second()], [examiner.changed_in_place()]
    )
    # A second derivative may be missing, but the first must not change for its sake.
    if seen.second.finding and seen.second.finding.output == "grad":
        seen.contract.append(seen.second)
    try:
        seen.farewell = student.ask("farewell")
    except StudentEnded as ended:
        seen.ended = ended
    return seen, number


def _watch_the_first_broken(student: Student, outcomes: list[Outcome]) -> None:
    """Ask the first question with a wrong answer again, to see what was returned in it."""
    for outcome in outcomes:
        if outcome.finding and outcome.answer:
            again = ask(student, replace(outcome.question, watch=True)).answer
            if again:
                outcome.answer.facts["returned"] = again.facts.get("returned")
            return


def judge(seen: Observations) -> tuple[CheckResult, ...]:
    """The results of all checks, in teaching order."""
    return _results(seen.exercise, lambda check: _problem(check.name, seen))


def praise(seen: Observations) -> str:
    """What a pass has proven, and one thing to try next."""
    numbers = sum(
        t.numel()
        for name in ("backward", "contract", "helper")
        for o in getattr(seen, name)
        for output, t in o.question.expected.items()
        if output.startswith("grad") and output != "grad_output" and t.dtype == torch.float64
    )
    second = seen.second is not None and seen.second.answer is not None and not seen.second.finding
    also = (
        "gradcheck agrees, and the second derivative is right" if second else "and gradcheck agrees"
    )
    return (
        f"Well done. {numbers} gradients at random points are exact to "
        f"{TOLERANCE[torch.float64]:.0e} in float64, {also}. "
        f"{seen.exercise.try_next}"
    ).strip()


_UNREADY = {
    "load": "the file has to load",
    "forward": "forward has to be right",
    "backward": "backward has to be right",
}


def _results(
    exercise: Exercise, problem: Callable[[Check], str | Finding]
) -> tuple[CheckResult, ...]:
    """Run down the table: a check fails with its problem, or is skipped, or earns its points."""
    names = {"c": exercise.class_name, "h": exercise.helper_name, "f": exercise.formula}
    results: dict[str, CheckResult] = {}
    for check in CHECKS:
        name, title = public_name(check.name, exercise), check.title.format(**names)
        blocking = next((results[n] for n in check.rests_on if results[n].status != "pass"), None)
        if blocking:
            # A skipped check passes on its own reason: the one that began it.
            reason = (
                blocking.message
                if blocking.status == "skipped"
                else f"not checked, because {_UNREADY[blocking.name]} first"
            )
            result = CheckResult(name, title, "skipped", 0, check.max_points, reason)
        else:
            found = problem(check)
            if not found:
                result = CheckResult(name, title, "pass", check.max_points, check.max_points)
            elif isinstance(found, str):
                result = CheckResult(name, title, "fail", 0, check.max_points, found)
            else:
                message = describe(found, exercise)
                result = CheckResult(name, title, "fail", 0, check.max_points, message, found.worst)
        results[check.name] = result
    return tuple(results.values())


def _problem(name: str, seen: Observations) -> str | Finding:
    """What is wrong in one check: the finding that says most, or words, or "" for nothing."""
    if name == "load":
        return gate_problem(seen) or ""
    findings = seen.findings(name)
    if findings:
        return findings[0]
    if not getattr(seen, name):
        return "not reached: your code had ended its process by then"
    if name == "backward" and seen.gradcheck:
        return "torch.autograd.gradcheck, in float64, does not agree"
    return ""


def gate_problem(seen: Observations) -> str | None:
    """Why nothing further can be checked, or None."""
    c, h = seen.exercise.class_name, seen.exercise.helper_name
    if seen.signalled:
        return "the code sends signals to processes"
    if seen.load is None:
        return (
            ending_words(seen.ended, "import")
            if seen.ended and seen.ended.stage == "load"
            else "the file was not loaded"
        )
    if seen.load.error:
        return f"importing the file raised {error_words(seen.load.error)}"
    facts = seen.load.facts
    about, helper = facts.get("class"), facts.get("helper")
    if not isinstance(about, dict) or not isinstance(helper, dict):
        return "the file was not loaded"
    if about.get("defined") is not True:
        return f"the file defines no {c}"
    if about.get("is_class") is not True:
        return f"{c} is not a class"
    if about.get("is_function") is not True:
        return f"{c} is not a torch.autograd.Function"
    if helper.get("defined") is not True:
        return f"the file defines no {h}"
    if helper.get("callable") is not True:
        return f"{h} is not a function"
    return None


_WHERE = {"forward": "forward", "backward": "backward", "helper": "{h}", "load": "the import"}
_ENDINGS = {
    "cpu": "{s} did not end within 10 s of CPU time",
    "wall": "{s} did not end within 30 s",
    "memory": "{s} took more memory than allowed",
    "output": "{s} printed more than 64 MiB",
    "processes": "{s} started too many processes",
    "exit": "{s} ended the whole process (exit status {n})",
    "signal": "{s} crashed the process (signal {n})",
    "protocol": "{s} sent an answer that can't be read",
}


def ending_words(ended: StudentEnded, stage: str) -> str:
    """How the student's process came to its end, in words."""
    words = _ENDINGS.get(ended.why, "{s} ended the process that was watching it")
    return words.format(s=stage, n=abs(ended.code))


def error_words(error: dict[str, Any]) -> str:
    """An exception in a few words; its text is the student's or torch's, cut."""
    message = str(error.get("message", "")).strip().splitlines()
    first = message[0][:160] if message else ""
    return f"{error.get('type')}: {first}" if first else str(error.get("type"))


def describe(finding: Finding, exercise: Exercise) -> str:
    """One finding in a short sentence."""
    words, kind = finding.question.words, finding.kind
    name = _value_name(finding, exercise)
    about = finding.facts.get("about", {})
    error = finding.facts.get("error")
    if kind == "ended" and finding.ended:
        stage = {"helper": exercise.helper_name}.get(finding.ended.stage, finding.ended.stage)
        return f"{words}: " + ending_words(finding.ended, stage)
    if kind == "error" and isinstance(error, dict):
        return f"{words}: {error.get('stage')} raised {error_words(error)}"
    if kind == "builtin":
        return f"{words}: the result doesn't come from {exercise.class_name}; backward never runs"
    if kind == "missing":
        return f"{words}: {name} is {kind_words(about)}, not a tensor"
    if kind == "subclass":
        return f"{words}: {name} is a {about.get('type')}, not a plain tensor"
    expected = finding.question.expected[finding.output]
    if kind == "shape":
        return f"{words}: {name} has shape {about.get('shape')}, expected {list(expected.shape)}"
    if kind == "dtype":
        return f"{words}: {name} has dtype {about.get('dtype')}, expected {str(expected.dtype)[6:]}"
    if kind == "changed":
        return f"{words}: {name} was changed in place"
    index = list(finding.worst.index) if finding.worst else []
    return f"{words}: {name} is wrong" + (f", most of all at index {index}" if index else "")


def _value_name(finding: Finding, exercise: Exercise) -> str:
    output = finding.output
    if output.startswith("grad") and output != "grad_output":
        is_helper = finding.question.operation == "helper"
        return f"{exercise.helper_name}(x)" if is_helper else "the gradient of x"
    return {"y": f"{exercise.class_name}.apply(x)"}.get(output, output)


def kind_words(about: dict[str, Any]) -> str:
    """What a value is, in words, from its description."""
    kind = about.get("kind")
    if kind == "tensor":
        return "a tensor that holds no plain numbers"
    if kind in ("tuple", "list"):
        return f"a {kind} of {about.get('length')}"
    return {
        None: "nothing",
        "none": "None",
        "number": "a plain number",
        "function": "a function",
    }.get(kind, f"a {about.get('type', kind)}")
