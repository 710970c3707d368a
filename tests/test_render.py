"""The renderers: what a report looks like, whatever is in it."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest
from junitparser import JUnitXml
from rich.cells import cell_len

from grader.records import CheckResult, Diagnosis, Layer, Line, Point, Report
from grader.render import json as as_json
from grader.render import junit, terminal
from grader.render.text import escape_controls, quote, spell

#: What acts on a terminal, on rich or on XML instead of being read.
HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J [bold red]markup[/] :boom: \u202eevil\u2066 "
    "\ud800 \x00 \x7f a\rb </failure> ]]> \ufffe 立方 \u200b"
)

FAILED = Report(
    exercise="cube",
    file="starter/cube.py",
    verdict="fail",
    score=2,
    max_score=10,
    checks=(
        CheckResult("loads", "Defines Cube and cube_grad", "pass", 0, 0),
        CheckResult("forward", "Forward gives x³", "pass", 2, 2),
        CheckResult(
            "cube-grad",
            "cube_grad gives the gradient",
            "fail",
            0,
            3,
            "At x = 2 it is 4, and 12 is right.",
            Point((1,), 2.0, None, 4.0, 12.0),
        ),
        CheckResult("backward", "Backward", "skipped", 0, 3, "Not checked: cube_grad failed."),
        CheckResult("contract", "The contract", "skipped", 0, 2, "Not checked: cube_grad failed."),
    ),
    diagnoses=(
        Diagnosis(
            mistake="missing-factor-3",
            severity="error",
            title="The local derivative lacks its factor 3",
            explanation="The chain rule multiplies grad_output by d(x³)/dx. " * 4,
            evidence="Your backward computes 1 · x² · grad_output.",
            line=Line(31, "        return grad_out * x**2", 15, 30),
            hint="What does the power rule do with the exponent?",
            hints=("What does the power rule do with the exponent?", "Think of x → x³."),
            detail="technical text",
        ),
        Diagnosis("second", "error", "A second mistake", "later", "", None, ""),
        Diagnosis("tip", "advice", "A habit worth having", "because", "", None, ""),
    ),
    seed=7,
    seconds=1.25,
    versions={"python": "3.11.7", "torch": "2.13.0"},
    isolation=(Layer("time", on=True, why="10 s"), Layer("bubblewrap", on=False, why="not here")),
)

PASSED = dataclasses.replace(
    FAILED,
    verdict="pass",
    score=10,
    checks=tuple(
        CheckResult(c.name, c.title, "pass", c.max_points, c.max_points) for c in FAILED.checks
    ),
    diagnoses=FAILED.diagnoses[2:],
    praise="Well done: exact to 1e-12 at random points.",
)


def replaced(value: object, text: str) -> object:
    """Return the same records with this text in every place that a string may stand."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fixed = {"verdict", "status", "severity", "mistake"}
        changes = {
            f.name: replaced(getattr(value, f.name), text)
            for f in dataclasses.fields(value)
            if f.name not in fixed
        }
        return dataclasses.replace(value, **changes)
    if isinstance(value, tuple):
        return tuple(replaced(item, text) for item in value)
    if isinstance(value, dict):
        return {text: text}
    return text if isinstance(value, str) else value


HOSTILE_REPORT = replaced(dataclasses.replace(FAILED, output="x", events=("y",)), HOSTILE)
LONG_REPORT = replaced(dataclasses.replace(FAILED, output="x", events=("y",)), "long" * 1000)
WIDE_REPORT = replaced(dataclasses.replace(FAILED, output="x", events=("y",)), "立 方" * 300)
EMPTY = Report("cube", "", "fail", 0, 10, (), (), seed=0, seconds=0)

REPORTS = {
    "failed": FAILED,
    "passed": PASSED,
    "hostile": HOSTILE_REPORT,
    "long": LONG_REPORT,
    "wide": WIDE_REPORT,
    "empty": EMPTY,
}


def text(report: Report, **options: object) -> str:
    defaults = {"color": False, "encoding": "utf-8", "verbose": False}
    return terminal.render(report, **{**defaults, **options})


# ---------------------------------------------------------------- terminal


def test_the_verdict_and_the_score_come_first():
    assert text(FAILED).splitlines()[0] == "FAIL  2 of 10  starter/cube.py"
    assert text(PASSED).splitlines()[0] == "PASS  10 of 10  starter/cube.py"


def test_the_seed_and_the_versions_come_last():
    assert text(FAILED).splitlines()[-2:] == [
        "Again: python -m grader grade starter/cube.py --seed 7",
        "python 3.11.7, torch 2.13.0, 1.2 s",
    ]


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "no-such-encoding"])
@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_no_line_is_wider_than_asked_and_no_character_acts(report, width, encoding, verbose):
    page = text(report, width=width, encoding=encoding, verbose=verbose)
    assert max(cell_len(line) for line in page.splitlines()) <= width
    assert all(c.isprintable() for line in page.split("\n") for c in line)
    page.encode("ascii" if encoding == "no-such-encoding" else encoding)


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_a_report_stays_short_whatever_is_in_it(report):
    assert len(text(dataclasses.replace(report, file="x", exercise="cube")).splitlines()) <= 70


def test_the_usual_report_fits_a_screen():
    assert len(text(FAILED).splitlines()) <= 40


def test_markup_in_a_student_s_string_is_text():
    page = text(dataclasses.replace(FAILED, file="[bold red]x[/] :boom:.py"), color=True)
    assert "[bold red]x[/] :boom:.py" in page


@pytest.mark.parametrize("report", [FAILED, HOSTILE_REPORT])
def test_colour_comes_only_when_told_and_says_nothing_alone(report):
    plain, coloured = text(report), text(report, color=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    without = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in without.splitlines()] == plain.splitlines()


def test_the_environment_does_not_change_the_report(monkeypatch):
    before = text(FAILED, color=True)
    for name, value in {"NO_COLOR": "1", "COLUMNS": "20", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    assert text(FAILED, color=True) == before


class Stream(io.StringIO):
    def __init__(self, encoding, *, terminal):
        super().__init__()
        self.isatty = lambda: terminal
        self._encoding = encoding

    @property
    def encoding(self):
        return self._encoding


@pytest.mark.parametrize(
    ("terminal_is_there", "environment", "coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_is_for_a_terminal_that_wants_it(
    monkeypatch, terminal_is_there, environment, coloured
):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    page = terminal.render_for(FAILED, Stream("utf-8", terminal=terminal_is_there), verbose=False)
    assert ("\x1b[" in page) == coloured


def test_a_stream_s_encoding_is_respected():
    terminal.render_for(FAILED, Stream("ascii", terminal=False), verbose=True).encode("ascii")


def test_ascii_spells_the_lesson_s_notation():
    page = text(FAILED, encoding="ascii")
    assert "Forward gives x^3" in page
    assert "1 * x^2 * grad_output" in page
    assert page.isascii()


def test_latin_1_keeps_what_it_has():
    assert "1 · x² · grad_output" in text(FAILED, encoding="latin-1")


def test_the_student_s_line_is_marked_under_the_right_columns():
    line, mark = _line_and_mark(text(FAILED))
    assert line.endswith("        return grad_out * x**2")
    assert _under(line, mark) == "grad_out * x**2"


def test_a_mark_moves_with_what_is_escaped_before_it():
    source = "\tх = 'é\u202e'; return x"  # a Cyrillic letter among them
    start = source.index("return")
    found = dataclasses.replace(FAILED.diagnoses[0], line=Line(1, source, start, len(source)))
    report = dataclasses.replace(FAILED, diagnoses=(found,))
    line, mark = _line_and_mark(text(report, encoding="ascii"))
    assert r"\u0445 = '\xe9\u202e'" in line
    assert _under(line, mark) == "return x"


def test_a_mark_far_to_the_right_is_still_shown():
    source = "a" * 300 + " + wrong + " + "b" * 300
    found = dataclasses.replace(FAILED.diagnoses[0], line=Line(1, source, 303, 308))
    line, mark = _line_and_mark(text(dataclasses.replace(FAILED, diagnoses=(found,))))
    assert _under(line, mark) == "wrong"


def test_a_line_without_a_mark_has_none():
    found = dataclasses.replace(FAILED.diagnoses[0], line=Line(1, "x = 1"))
    assert "^" not in text(dataclasses.replace(FAILED, diagnoses=(found,)))


def test_the_worst_point_stands_in_a_table():
    page = text(FAILED)
    assert re.search(
        r"\bx +yours +expected +yours/expected\n.*cube-grad +2 +4 +12 +0\.333333", page
    )
    assert "grad_output  " not in page


def test_numbers_get_the_digits_that_tell_them_apart():
    worst = Point((0,), 1.5, 2.0, 13.500000001, 13.5)
    check = dataclasses.replace(FAILED.checks[2], worst=worst)
    assert "13.500000001" in text(dataclasses.replace(FAILED, checks=(check,)))


@pytest.mark.parametrize("yours", [float("nan"), float("inf"), 0.0])
def test_a_point_may_hold_any_number(yours):
    check = dataclasses.replace(FAILED.checks[2], worst=Point((), 0.0, -1.0, yours, 0.0))
    assert f" {yours:g} " in text(dataclasses.replace(FAILED, checks=(check,)))


def test_further_mistakes_are_named_and_no_more():
    page = text(FAILED)
    assert "Also:\n  A second mistake\n" in page
    assert "later" not in page.replace("Advice, for later", "")
    assert page.index("A second mistake") < page.index("A habit worth having")


def test_a_pass_shows_praise_and_advice_that_costs_nothing():
    page = text(PASSED)
    assert "Well done: exact" in page
    assert "Advice (costs no points): A habit worth having" in page


def test_advice_that_failed_a_file_is_its_main_diagnosis():
    page = text(dataclasses.replace(PASSED, verdict="fail"))
    assert "A habit worth having" in page
    assert "costs no points" not in page


def test_technical_text_and_output_wait_for_verbose():
    report = dataclasses.replace(FAILED, output="one\ntwo\n", events=("left a process",))
    short, full = text(report), text(report, verbose=True)
    assert "technical text" not in short
    assert "The file printed 2 lines (shown by --verbose)." in short
    for shown in ("technical text", "one\n  two", "left a process", "bubblewrap off, not here"):
        assert shown in full


def test_layers_that_were_off_are_named():
    assert "Isolation: 1 of 2 layers on; off: bubblewrap\n" in text(FAILED)


def test_a_command_too_long_for_a_line_still_works_in_a_shell():
    report = dataclasses.replace(FAILED, file="a folder/" + "n" * 60 + ".py", exercise="square")
    command = text(report).partition("Again: ")[2].partition("\npython 3.11.7")[0]
    words = command.replace("\\\n", " ").split("'")
    assert words[1] == report.file
    assert words[2].split() == ["--exercise", "square", "--seed", "7"]


def test_the_longest_path_does_not_hide_the_seed():
    report = dataclasses.replace(FAILED, file="n" * 4096)
    assert text(report).splitlines()[-2].endswith("--seed 7")


def _line_and_mark(page: str) -> tuple[str, str]:
    lines = page.splitlines()
    mark = next(i for i, line in enumerate(lines) if "^^" in line)
    return lines[mark - 1], lines[mark]


def _under(line: str, mark: str) -> str:
    return line[mark.index("^") : mark.rindex("^") + 1]


# ---------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain ³ 立方", "plain ³ 立方"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\nb\rc", r"a\nb\rc"),
        ("\u202e\u2066\u200f", r"\u202e\u2066\u200f"),
        ("\xa0\ufeff\u2028", r"\xa0\ufeff\u2028"),
        ("\ud800\U000e0041", r"\ud800\U000e0041"),
    ],
)
def test_what_would_act_is_shown_as_an_escape(raw, shown):
    assert escape_controls(raw) == shown


def test_a_quotation_is_escaped_where_a_text_is_spelt():
    assert quote("x³ → y", "ascii") == r"x\xb3 \u2192 y"
    assert quote("\tx", "ascii") == "    x"
    assert spell("x³ → y\nx⁻¹ é", "ascii") == ["x^3 to y", r"x^-1 \xe9"]


# ---------------------------------------------------------------- JSON


SCHEMA = json.loads((Path(terminal.__file__).parent / "report.schema.json").read_text("utf-8"))


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_json_keeps_to_its_schema(report):
    page = as_json.render(report)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(page))
    assert page.isascii()


@pytest.mark.parametrize("report", [FAILED, PASSED, EMPTY])
def test_json_comes_back_as_the_same_report(report):
    assert Report.from_dict(json.loads(as_json.render(report))) == report


def test_json_spells_what_json_lacks():
    worst = Point((0, 1), float("nan"), float("-inf"), float("inf"), 1.0)
    check = dataclasses.replace(FAILED.checks[2], worst=worst)
    data = json.loads(as_json.render(dataclasses.replace(FAILED, checks=(check,), file="\ud800")))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert data["file"] == r"\ud800"
    assert data["checks"][0]["worst"] == {
        "index": [0, 1],
        "x": "nan",
        "grad_output": "-inf",
        "yours": "inf",
        "expected": 1.0,
    }


@pytest.mark.parametrize("record", [Report, CheckResult, Point, Diagnosis, Line, Layer])
def test_every_field_is_documented_and_in_the_schema(record, root):
    names = {"CheckResult": "check"}
    part = names.get(record.__name__, record.__name__.lower())
    schema = SCHEMA if record is Report else SCHEMA["$defs"][part]
    fields = [f.name for f in dataclasses.fields(record)]
    assert sorted(schema["properties"]) == sorted(schema["required"]) == sorted(fields)
    documented = (root / "docs" / "json.md").read_text("utf-8")
    assert [name for name in fields if f"`{name}`" not in documented] == []


# ---------------------------------------------------------------- JUnit


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_junit_has_a_case_for_each_check(report):
    (suite,) = JUnitXml.fromstring(junit.render(report).encode("utf-8"))
    if report.checks:
        assert suite.tests == len(report.checks)
        assert suite.failures == sum(c.status == "fail" for c in report.checks)
        assert suite.skipped == sum(c.status == "skipped" for c in report.checks)
    else:
        assert suite.failures == 1
    assert suite.time == round(report.seconds, 3)


def test_junit_tells_the_main_diagnosis_at_the_first_failure():
    (suite,) = JUnitXml.fromstring(junit.render(FAILED).encode("utf-8"))
    (failure,) = next(case for case in suite if case.classname == "cube.cube-grad").result
    assert failure.type == "missing-factor-3"
    assert failure.message == "At x = 2 it is 4, and 12 is right."
    assert "line 31:         return grad_out * x**2" in failure.text


def test_junit_fails_when_the_verdict_does():
    (suite,) = JUnitXml.fromstring(
        junit.render(dataclasses.replace(PASSED, verdict="fail")).encode()
    )
    assert (suite.tests, suite.failures) == (6, 1)
