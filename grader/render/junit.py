"""The report as JUnit XML, which CI systems and code hosts display."""

from __future__ import annotations

from collections.abc import Iterable

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from grader.records import CheckResult, Diagnosis, Report
from grader.render.text import spell


def render(report: Report) -> str:
    """Return a JUnit document: one suite for the file, one test case for each check."""
    return _document([_suite(report, f"grader.{report.exercise}")])


def render_class(reports: Iterable[tuple[str, Report]]) -> str:
    """Return a JUnit document for a class: one suite for each student."""
    return _document([_suite(report, student) for student, report in reports])


def _document(suites: list[TestSuite]) -> str:
    document = JUnitXml()
    for suite in suites:
        document.add_testsuite(suite)
    document.time = round(sum(suite.time for suite in suites), 3)
    text: bytes = document.tostring()
    return text.decode("utf-8")


def _suite(report: Report, name: str) -> TestSuite:
    main = report.diagnoses[0] if report.diagnoses else None
    failed = [check for check in report.checks if check.status == "fail"]
    suite = TestSuite(_clean(name))
    suite.add_property("file", _clean(report.file))
    suite.add_property("score", f"{report.score:g}/{report.max_score:g}")
    suite.add_property("seed", str(report.seed))
    for check in report.checks:
        suite.add_testcase(_case(report, check, main if check in failed[:1] else None))
    if report.verdict == "fail" and not failed:
        suite.add_testcase(_verdict(report, main))
    suite.time = round(report.seconds, 3)  # after the cases, whose sum it would be
    return suite


def _case(report: Report, check: CheckResult, main: Diagnosis | None) -> TestCase:
    case = TestCase(_clean(check.title), _clean(f"{report.exercise}.{check.name}"), 0)
    if check.status == "fail":
        case.result = [_failure(check.message or check.title, main)]
    elif check.status == "skipped":
        case.result = [Skipped(_clean(check.message))]
    return case


def _verdict(report: Report, main: Diagnosis | None) -> TestCase:
    """Show a file that failed though no check did, as advice does under --strict."""
    case = TestCase("Verdict", _clean(f"{report.exercise}.verdict"), 0)
    case.result = [_failure(main.title if main else "failed", main)]
    return case


def _failure(message: str, main: Diagnosis | None) -> Failure:
    failure = Failure(_clean(message), main.mistake if main else "failed")
    if main:
        parts = [main.title, main.explanation, main.evidence]
        if main.line:
            parts.append(f"line {main.line.number}: {main.line.text}")
        failure.text = "\n".join(_clean(part) for part in [*parts, main.hint] if part)
    return failure


def _clean(text: str) -> str:
    """Escape what XML can't hold; the library escapes its markup."""
    return "\n".join(spell(text, "utf-8"))
