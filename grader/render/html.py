"""Reports and a class as pages: one file each, without network, with every string escaped."""

from __future__ import annotations

from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from grader.records import Report
from grader.render.text import spell


def report(report: Report, student: str) -> str:
    """Return one student's report as a page."""
    errors = [d for d in report.diagnoses if d.severity == "error"]
    advice = [d for d in report.diagnoses if d.severity == "advice"]
    return _template("report.html").render(
        report=report, student=student, errors=errors, advice=advice
    )


def class_page(summary: Any, unassigned: list[tuple[str, str]]) -> str:
    """Return the page on a class; `summary` is a `classroom.summary.Summary`."""
    from grader.render import figures

    scores = [row.score for row in summary.rows]
    return _template("class.html").render(
        summary=summary,
        unassigned=unassigned,
        # matplotlib escapes what it draws, and it draws only numbers and our own words.
        histogram=Markup(figures.histogram(scores, summary.max_score)),  # noqa: S704
        shares=_shares(summary),
    )


def _shares(summary: Any) -> list[dict[str, Any]]:
    """Check by check, how many students passed it, failed it, or did not get there."""
    total = len(summary.rows) or 1
    shares = []
    for i, (name, title) in enumerate(summary.check_titles.items()):
        counts = {s: sum(r.checks[i] == s for r in summary.rows) for s in _STATUSES}
        widths = {s: f"{100 * count / total:.2f}%" for s, count in counts.items()}
        shares.append({"name": name, "title": title, "counts": counts, "widths": widths})
    return shares


_STATUSES = ("pass", "fail", "skipped")


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader.render"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    environment.filters["number"] = "{:.6g}".format
    return environment.get_template(name)


def _plain(value: Any) -> Any:
    """Spell out control characters, which could turn the text around or hide it."""
    return "\n".join(spell(value, "utf-8")) if type(value) is str else value
