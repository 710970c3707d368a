"""What a teacher wants to know about a class: who passed, what went wrong, whom to look at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from grader.records import Diagnosis, Report

_SUSPECTED = "suspected cheating"
#: Main mistakes after which a person should look at the file, and why.
_LOOK = {
    "unreadable-file": "no readable file",
    "crash": "crash",
    "early-exit": "ends its own process",
    "base-exception": "ends its own process",
    "infinite-loop": "time-out",
    "infinite-recursion": "crash",
    "huge-allocation": "takes all the memory",
    "output-flood": "floods the output",
    "leaves-process": "leaves processes behind",
    "writes-files": "writes files",
    "deletes-files": "deletes files",
    "opens-socket": "uses the network",
    **dict.fromkeys(
        (
            *("kills-parent", "patches-checker", "lying-tensor", "lying-object", "fake-report"),
            *("poisons-reference", "steals-reference", "hard-coded-reference", "detects-checker"),
            "hostile-exception",
        ),
        _SUSPECTED,
    ),
}
#: Events that mean the same whatever the verdict.
_EVENTS = {
    "open read": "reads files that are none of its business",
    "open write": "writes files",
    "os.kill": "signals processes",
    "os.killpg": "signals processes",
    "os.fork": "starts processes",
    "os.system": "starts programs",
    "os.exec": "starts programs",
    "os.posix_spawn": "starts programs",
    "subprocess.Popen": "starts programs",
    "socket.": "uses the network",
    "os.remove": "deletes files",
    "shutil.rmtree": "deletes files",
    "sys.addaudithook": _SUSPECTED,
    "sys._getframe": _SUSPECTED,
    "pathlib.Path.glob": "searches folders",
    "glob.glob": "searches folders",
}
_FORMULA = re.compile(r"backward computes (.+?)\. ")


@dataclass(frozen=True)
class Row:
    """What a summary keeps of one student: little, so that a large class fits."""

    student: str
    page: str
    score: float
    verdict: str
    mistake: str
    advice: tuple[str, ...]
    checks: tuple[str, ...]
    look: tuple[str, ...]


@dataclass
class Group:
    """Submissions with the same mistake; `examples` are the first two that differ."""

    mistake: str
    title: str
    explanation: str
    count: int = 0
    examples: list[Example] = field(default_factory=list)
    #: For those without a name: how often each fitted formula was seen.
    formulas: Counter[str] = field(default_factory=Counter)

    @property
    def unnamed(self) -> bool:
        """Whether nobody has given this mistake a name yet."""
        return self.mistake in ("unnamed", "unnamed-error", "fitted-formula")


@dataclass(frozen=True)
class Example:
    """A student's line, without the student."""

    line: str
    evidence: str


@dataclass
class Summary:
    """A class, built up report by report."""

    exercise: str
    max_score: float = 0
    check_titles: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    groups: dict[str, Group] = field(default_factory=dict)
    advice: dict[str, Group] = field(default_factory=dict)
    layers: dict[str, tuple[bool, str]] = field(default_factory=dict)

    def add(self, student: str, report: Report, page: str) -> Row:
        """Take one report in."""
        self.max_score = report.max_score
        self.check_titles.update({check.name: check.title for check in report.checks})
        errors = [d for d in report.diagnoses if d.severity == "error"]
        advice = [d for d in report.diagnoses if d.severity == "advice"]
        if errors:
            _count(self.groups, errors[0])
        for tip in advice:
            _count(self.advice, tip)
        for layer in report.isolation:
            self.layers[layer.name] = layer.on, layer.why
        row = Row(
            student,
            page,
            report.score,
            report.verdict,
            errors[0].mistake if errors else "",
            tuple(tip.mistake for tip in advice),
            tuple(check.status for check in report.checks),
            reasons(report),
        )
        self.rows.append(row)
        return row

    @property
    def passed(self) -> int:
        """How many passed."""
        return sum(row.verdict == "pass" for row in self.rows)

    @property
    def ranked(self) -> list[Group]:
        """The named mistakes, the most frequent first."""
        return _ranked(group for group in self.groups.values() if not group.unnamed)

    @property
    def unnamed(self) -> list[tuple[str, int]]:
        """The mistakes without a name, by fitted formula, the most frequent first."""
        formulas: Counter[str] = Counter()
        for group in self.groups.values():
            if group.unnamed:
                formulas.update(group.formulas)
        return sorted(formulas.items(), key=lambda item: (-item[1], item[0]))

    @property
    def tips(self) -> list[Group]:
        """The advice given, the most frequent first."""
        return _ranked(self.advice.values())

    @property
    def look(self) -> list[Row]:
        """The students whose files a person should look at."""
        return [row for row in self.rows if row.look]


def reasons(report: Report) -> tuple[str, ...]:
    """Why a person should look at this submission; () for no reason."""
    found = [_LOOK[d.mistake] for d in report.diagnoses if d.mistake in _LOOK]
    found += [
        words
        for event in report.events
        for name, words in _EVENTS.items()
        if event.startswith(name)
    ]
    return tuple(dict.fromkeys(found))


def _count(groups: dict[str, Group], diagnosis: Diagnosis) -> None:
    key = diagnosis.mistake
    group = groups.setdefault(key, Group(key, diagnosis.title, diagnosis.explanation))
    group.count += 1
    if group.unnamed:
        formula = _FORMULA.search(diagnosis.explanation)
        group.formulas[formula[1] if formula else diagnosis.title] += 1
    if diagnosis.line and len(group.examples) < 2:
        example = Example(diagnosis.line.text.strip(), diagnosis.evidence)
        if example.line not in [e.line for e in group.examples]:
            group.examples.append(example)


def _ranked(groups: Iterable[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: (-group.count, group.mistake))
