"""One text report for each mistake, kept under tests/golden: a changed word shows in a diff.

`python tests/test_golden.py` writes them anew.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from grader.render import terminal
from grader.service import read_source

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
CASES = json.loads((HERE / "submissions" / "manifest.json").read_text("utf-8"))
#: The first submission of each main mistake stands for it.
EXAMPLES = {mistake: name for name, (_, mistake) in reversed(CASES.items()) if mistake}


def text_of(report) -> str:
    """Return the report as a student sees it, without what differs from run to run."""
    text = terminal.render(report, color=False, encoding="utf-8", verbose=False)
    text = re.sub(r"(?ms)^Isolation: .*?(?=^Again)", "", text)
    text = re.sub(r"(?m)^python .* s$", "", text)
    text = re.sub(r"(?m)^  The file printed .*\n\n?", "", text)
    # On a machine with much to do, the limit on wall time may strike first.
    text = re.sub(r"within (10 s of CPU time|30 s)(\. Somewhere .*\n?.*end\.)?", "in time", text)
    if report.diagnoses and report.diagnoses[0].mistake == "non-deterministic":
        text = re.sub(r" *-?\d+\.\d+(?=[ ;)\n])| *(?<=index) \[\d+\]", " #", text)
        text = re.sub(r"(?m)^  worst point.*$", "  worst point", text)
    text = re.sub(r"\(got \d+ bytes\)|grader-\w+", "...", text)
    return text.rstrip() + "\n"


def source_of(name):
    from dataclasses import replace

    return replace(read_source(HERE / "submissions" / name), name="cube.py")


@pytest.fixture(scope="module")
def reports(judges):
    return dict(
        zip(EXAMPLES, judges([source_of(n) for n in EXAMPLES.values()], seed=1), strict=True)
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mistake", EXAMPLES)
def test_report(mistake, reports):
    text = text_of(reports[mistake])
    assert text == (GOLDEN / f"{mistake}.txt").read_text("utf-8")
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 42


def test_no_golden_report_is_left_over():
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(EXAMPLES)


def write() -> None:
    """Write all golden reports anew."""
    from grader import JudgeProcess

    GOLDEN.mkdir(exist_ok=True)
    for path in GOLDEN.glob("*.txt"):
        path.unlink()
    judge = JudgeProcess()
    for mistake, name in EXAMPLES.items():
        report = judge.grade(source_of(name), "cube", 1)
        (GOLDEN / f"{mistake}.txt").write_text(text_of(report), "utf-8")
    judge.close()


if __name__ == "__main__":
    sys.exit(write())
