"""class.html and the reports: what a teacher sees, in a real browser, and what can do no harm."""

from __future__ import annotations

import csv
import re
import subprocess
from html.parser import HTMLParser

import pytest
from conftest import require_tool

from grader.classroom.outputs import Names, Outputs, cell
from grader.classroom.summary import Summary
from grader.records import CheckResult, Diagnosis, Layer, Line, Report
from grader.render import html

HARM = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
VOID = {"meta", "img", "path", "use", "rect", "br", "hr", "input", "link"}


def report(mistake="", score=2.0, line="return grad_out * x**2", **more):
    status = "pass" if score == 10 else "fail"
    checks = tuple(
        CheckResult(name, f"Check {name}", status, score / 2, 5, "a reason")
        for name in ("forward", "backward")
    )
    explanation = f"At every number tried, backward computes 2·x^{len(mistake)}. More."
    found = Diagnosis(
        mistake, "error", f"Title {HARM}", explanation, HARM, Line(3, line, 0, 6), "?"
    )
    values = {
        "exercise": "cube",
        "file": HARM + ".py",
        "verdict": status,
        "score": score,
        "max_score": 10,
        "checks": checks,
        "diagnoses": (found,) if mistake else (),
        "seed": 1,
        "seconds": 0.1,
        "isolation": (Layer("bubblewrap", on=True, why="read-only system"),),
        "output": HARM,
    }
    return Report(**{**values, **more})


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page on a class of 40, hostile in every string."""
    summary = Summary("cube")
    for i in range(20):
        summary.add(f"s{i}", report(score=10), f"reports/s{i}.html")
    for i in range(12):
        line = f"return {i}" if i else HARM
        summary.add(f"w{i}", report("missing-factor-3", line=line), f"reports/w{i}.html")
    for i in range(6):
        summary.add(f"u{i}", report("fitted-formula"), f"reports/u{i}.html")
    summary.add(HARM, report("infinite-loop"), "reports/x y#.html")
    spy = report("missing-factor-3", events=("open read /etc/passwd",))
    summary.add("spy", spy, "reports/spy.html")
    place = tmp_path_factory.mktemp("page") / "class.html"
    place.write_text(html.class_page(summary, [(HARM, "It can't be told whose it is.")]), "utf-8")
    return place


def browser(page, tmp_path, *options):
    """Run a browser without a window on a page; return what it prints."""
    command = [
        require_tool("chromium", "google-chrome"),
        *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *(f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", *options),
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=90)
    return done.stdout


@pytest.mark.tool("chromium", "google-chrome")
def test_in_a_browser(page, tmp_path):
    """The browser's own tree: counts, groups, links; no string has become an element or run."""
    tree = browser(page, tmp_path, "--dump-dom")
    text = re.sub(r"<[^>]+>", " ", tree)
    assert "<title>cube: 20 of 40 passed</title>" in tree
    assert re.search(r"20\s+of 40", text)
    assert tree.count("<script") == 0
    assert "<img" not in tree
    assert re.search(r"13\s+students\s+Title", text)  # the spy made the same mistake
    assert 'href="reports/x%20y%23.html"' in tree
    assert re.search(r"time-out", text)
    assert "reads files that are none of its business" in text
    assert re.search(r"2·x\^14\s+6", text)  # the pile without a name, by formula


@pytest.mark.tool("chromium", "google-chrome")
def test_it_looks_like_something(page, tmp_path):
    """A picture of the page has the histogram's green and red; on paper it has few pages."""
    from PIL import Image

    picture = tmp_path / "page.png"
    browser(page, tmp_path, f"--screenshot={picture}", "--window-size=1100,1400")
    with Image.open(picture) as image:
        colours = {colour: n for n, colour in image.convert("RGB").getcolors(1 << 24)}
    assert colours.get((0x1B, 0x7F, 0x5C), 0) > 3000
    assert colours.get((0xB5, 0x54, 0x3A), 0) > 3000
    paper = tmp_path / "page.pdf"
    browser(page, tmp_path, f"--print-to-pdf={paper}")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())) <= 8


class Reader(HTMLParser):
    """Reads a page as a screen reader's programmer would: elements that close, and their names."""

    def __init__(self):
        super().__init__()
        self.open, self.headings, self.problems, self.ids = [], [], [], set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if given.get("role") == "img" and not (given.keys() & {"aria-label", "aria-labelledby"}):
            self.problems.append("a picture without words")
        for name in ("src", "href"):
            value = given.get(name) or ""
            if re.match(r"(?i)\s*(https?:|//|javascript:|data:text)", value):
                self.problems.append(f"{name}={value}")
        self.problems += [name for name in given if name.startswith("on")]

    def handle_endtag(self, tag):
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.problems.append(f"</{tag}>")


def read(text):
    reader = Reader()
    reader.feed(text)
    return reader


def test_a_screen_reader_finds_its_way(page):
    """Language, headings without gaps, a table for the picture, nothing from the network."""
    text = page.read_text("utf-8")
    reader = read(text)
    assert reader.problems == []
    assert reader.open == []
    assert '<html lang="en">' in text
    steps = zip(reader.headings, reader.headings[1:], strict=False)
    assert all(after - before <= 1 for before, after in steps)
    for name in re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', text):
        assert name in reader.ids
    assert "default-src 'none'" in text


def test_a_report_escapes_everything():
    text = html.report(report("missing-factor-3", events=(HARM,)), HARM)
    reader = read(text)
    assert reader.problems == []
    assert "<script" not in text
    assert "<img" not in text
    text = html.report(report("x", output="\x1b[2J\u202egnp"), "a")
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_grades_are_no_formulas(tmp_path):
    """A spreadsheet runs nothing that a student's name says."""
    students = ["=1+1", "+x", "-x", "@x", "\tx", "ann", 'a"b,c\nd']
    names = Names.of(students, 1, anonymous=False)
    outputs = Outputs(tmp_path, names, anonymous=False, gradescope=False)
    reports = [(student, report("missing-factor-3")) for student in students]
    outputs.grades("cube", reports, {"zed": "=why"})
    with (tmp_path / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:7] == [
        "student",
        "score",
        "max_score",
        "verdict",
        "mistake",
        "advice",
        "seconds",
    ]
    assert rows[0][7:] == ["forward", "backward"]
    assert len(rows) == 9
    assert not [value for row in rows for value in row if value.startswith(tuple("=+-@\t"))]
    assert cell("=1") == "'=1"


@pytest.mark.parametrize("anonymous", [False, True])
def test_names(tmp_path, anonymous):
    """File names are plain and unique; anonymous, no name is left in reports and pages."""
    students = ["Ann", "ann", "../x", "/etc/passwd", "a/b", "...", "x" * 300, "Bo Wu", "日本"]
    names = Names.of(students, 5, anonymous=anonymous)
    assert len({name.casefold() for name in names.files.values()}) == len(students)
    assert all(re.fullmatch(r"(?!\.)[\w.@+-]{1,110}", name) for name in names.files.values())
    outputs = Outputs(tmp_path, names, anonymous, gradescope=True)
    reports = [(s, report("missing-factor-3", file=f"{s[:50]}.py")) for s in students]
    for student, each in reports:
        outputs.report(student, each)
    outputs.class_page(outputs.grades("cube", reports, {}), [("Ann's notes", "no idea")])
    outputs.numbers()
    left = [
        p for p in tmp_path.rglob("*") if p.is_file() and p.suffix in (".html", ".txt", ".json")
    ]
    assert len(left) == len(students) * 3 + 1
    mention = [p for p in left if "Bo Wu" in p.read_text("utf-8")]
    assert bool(mention) is not anonymous
    assert "Bo Wu" in (tmp_path / "grades.csv").read_text("utf-8")
    assert (tmp_path / "numbers.csv").exists() is anonymous
