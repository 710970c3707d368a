"""The report as text for a terminal: at most a screen of it, read from top to bottom."""

from __future__ import annotations

import io
import math
import os
import shlex
from collections.abc import Iterable
from functools import lru_cache
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.records import CheckResult, Diagnosis, Line, Point, Report
from grader.render.text import quote, spell

_STYLES = {"pass": "green", "fail": "bold red", "skipped": "yellow"}
_WORDS = {"pass": "pass", "fail": "FAIL", "skipped": "skipped"}
_INDENT = "  "
#: The most lines that --verbose shows of one text.
_MANY = 200
_CUT = " ..."
_COLUMNS = ("x", "grad_output", "yours", "expected", "yours/expected")


def render(report: Report, *, width: int = 80, color: bool, encoding: str, verbose: bool) -> str:
    """Return the report as text, no line wider than ``width``.

    ``color`` adds colour to the words, never instead of them. What ``encoding``
    can't write is spelt in ASCII or escaped. ``verbose`` leaves nothing out.
    """
    page = _Page(width=width, color=color, encoding=encoding, verbose=verbose)
    errors = [d for d in report.diagnoses if d.severity == "error"]
    advice = [d for d in report.diagnoses if d.severity == "advice"]
    page.headline(report)
    page.file.write(
        _checks(report.checks, width=width, color=color, encoding=encoding, verbose=verbose)
    )
    if report.verdict == "pass":
        page.paragraph(report.praise, limit=6)
        for tip in advice[:1]:
            page.diagnosis(tip, label="Advice (costs no points): ")
        page.titles("More advice:", advice[1:])
    else:
        for main in (errors or advice)[:1]:
            page.diagnosis(main, report.checks)
        page.titles("Also:", errors[1:])
        page.titles("Advice, for later:", advice if errors else advice[1:])
    page.output(report)
    page.colophon(report)
    return page.text()


@lru_cache(maxsize=256)
def _checks(
    checks: tuple[CheckResult, ...], *, width: int, color: bool, encoding: str, verbose: bool
) -> str:
    """The table of checks: half the work, and the same for many of a class."""
    page = _Page(width=width, color=color, encoding=encoding, verbose=verbose)
    page.checks(checks)
    return page.file.getvalue()


def render_for(report: Report, stream: TextIO, *, verbose: bool) -> str:
    """Return the report as text for this stream: its encoding, and colour on a terminal."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return render(
        report,
        color=stream.isatty() and not plain,
        encoding=stream.encoding or "utf-8",
        verbose=verbose,
    )


class _Page:
    """Writes the parts of a report below each other, every string made safe on its way."""

    def __init__(self, *, width: int, color: bool, encoding: str, verbose: bool) -> None:
        self.encoding = encoding
        self.verbose = verbose
        self.file = io.StringIO()
        # Markup, emoji codes and highlighting are off: text is text, whoever wrote it.
        self.console = Console(
            file=self.file,
            width=width,
            height=100,
            color_system="standard" if color else None,
            force_terminal=color,
            force_jupyter=False,
            force_interactive=False,
            no_color=not color,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
        )

    def text(self) -> str:
        """Return all that was written."""
        return "".join(f"{line.rstrip()}\n" for line in self.file.getvalue().splitlines())

    # ------------------------------------------------------------ the parts

    def headline(self, report: Report) -> None:
        """Verdict, score, file."""
        line = Text().append(report.verdict.upper(), _STYLES[report.verdict])
        line.append(f"  {_number(report.score)} of {_number(report.max_score)}  ")
        room = self.console.width - line.cell_len
        line.append(self._tail(quote(report.file, self.encoding), room))
        self._print(line)
        self._print()

    def checks(self, checks: Iterable[CheckResult]) -> None:
        """Show one line for each check, and why it did not pass under it."""
        grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
        grid.add_column(width=7)  # the longest status word
        grid.add_column(ratio=1, overflow="fold")
        grid.add_column(justify="right", no_wrap=True)
        room = self.console.width - 22
        for check in checks:
            points = f"{_number(check.points)}/{_number(check.max_points)}"
            grid.add_row(
                Text(_WORDS[check.status], _STYLES[check.status]),
                self._wrapped(check.title, room, limit=2),
                Text(points if check.max_points else ""),
            )
            if check.status != "pass" and check.message:
                grid.add_row("", self._wrapped(check.message, room, limit=2), "")
        self.console.print(grid)

    def diagnosis(
        self, diagnosis: Diagnosis, checks: Iterable[CheckResult] = (), label: str = ""
    ) -> None:
        """Show what is wrong, why, by which numbers, where, and a way on."""
        self._print()
        style = "bold red" if diagnosis.severity == "error" else "bold cyan"
        title = Text(label, style)
        title.append_text(self._wrapped(diagnosis.title, self._room - len(label), limit=2))
        self._print(title)
        self.paragraph(diagnosis.explanation, limit=8, gap=False)
        self.paragraph(diagnosis.evidence, limit=4, gap=False)
        self._points(checks)
        if diagnosis.line:
            self._line(diagnosis.line)
        if diagnosis.hint:
            self.paragraph(f"Hint: {diagnosis.hint}", limit=4)
        if self.verbose:
            self.paragraph(diagnosis.detail)

    def titles(self, heading: str, diagnoses: Iterable[Diagnosis]) -> None:
        """Show further diagnoses by title only: one thing at a time."""
        titles = [d.title for d in diagnoses]
        shown = titles if self.verbose else titles[:4]
        if titles:
            self._print()
            self._print(Text(heading, "bold"))
        for title in shown:
            self._print(self._wrapped(title, self._room, limit=2), indent=True)
        if len(titles) > len(shown):
            self._print(Text(f"and {len(titles) - len(shown)} more"), indent=True)

    def paragraph(self, text: str, *, limit: int = 4, gap: bool = True) -> None:
        """Show a wrapped, indented text of at most ``limit`` lines, or many if verbose."""
        if text:
            if gap:
                self._print()
            self._print(self._wrapped(text, self._room, limit), indent=True)

    def output(self, report: Report) -> None:
        """Tell that the student's code printed something; show it when asked."""
        if not (report.output or report.events):
            return
        count = len(report.output.splitlines())
        if not self.verbose:
            if count:
                lines = "1 line" if count == 1 else f"{count} lines"
                self.paragraph(f"The file printed {lines} (shown by --verbose).")
            return
        if count:
            self.paragraph("The file printed:")
            self.paragraph(report.output, gap=False)
        if report.events:
            self.paragraph("What else it did:")
            for event in report.events:
                self.paragraph(event, gap=False)

    def colophon(self, report: Report) -> None:
        """How it was run, and how to run it so again."""
        self._print()
        if self.verbose:
            for layer in report.isolation:
                state = "on" if layer.on else "off"
                self._dim(f"Isolation: {layer.name} {state}, {layer.why}".rstrip(", "))
        elif report.isolation:
            off = [layer.name for layer in report.isolation if not layer.on]
            on = f"{len(report.isolation) - len(off)} of {len(report.isolation)} layers on"
            self._dim(f"Isolation: {on}" + (f"; off: {', '.join(off)}" if off else ""))
        self._dim(self._again(report), limit=60)  # a path may have 4096 characters
        versions = [f"{name} {version}" for name, version in report.versions.items()]
        self._dim(", ".join([*versions, f"{report.seconds:.1f} s"]))

    # ------------------------------------------------------------ their pieces

    def _again(self, report: Report) -> str:
        """Return the command that repeats the run, in one piece for the shell."""
        parts = [
            "Again: python -m grader grade",
            quote(shlex.quote(report.file), self.encoding),
            *([f"--exercise {report.exercise}"] if report.exercise != "cube" else []),
            f"--seed {report.seed}",
        ]
        command = " ".join(parts)
        return command if cell_len(command) <= self.console.width else " \\\n  ".join(parts)

    def _points(self, checks: Iterable[CheckResult]) -> None:
        """Show the worst point of each failed check, a row for each."""
        points = [(c.name, c.worst) for c in checks if c.status == "fail" and c.worst][:3]
        if not points:
            return
        upstream = any(point.grad_output is not None for _, point in points)
        columns = [name for name in _COLUMNS if upstream or name != "grad_output"]
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
        table.add_column("worst point of", overflow="fold")
        for column in columns:
            table.add_column(column, justify="right", overflow="fold")
        for name, point in points:
            cells = _cells(point)
            table.add_row(
                self._wrapped(name, self.console.width, limit=1),
                *(Text(cells[column]) for column in columns),
            )
        self._print()
        self._print(table, indent=True)

    def _line(self, line: Line) -> None:
        """Quote the student's line, cut around the mark where it is too long."""
        number = f"line {line.number}"
        room = self._room - len(number) - 3
        before, marked, after = (
            quote(part, self.encoding)
            for part in (
                line.text[max(0, line.start - 2 * room) : line.start],
                line.text[line.start : min(line.end, line.start + room)],
                line.text[line.end : line.end + room].rstrip(),
            )
        )
        if cell_len(before + marked) > room:
            before = self._tail(before, max(room // 3, room - cell_len(marked) - 8))
        code = Text(before + marked + after)
        code.truncate(room, overflow="crop")
        start = cell_len(before)
        mark = min(cell_len(marked), room - start)
        self._print()
        self._print(Text(f"{number} | ").append_text(code), indent=True)
        if mark > 0:
            caret = Text(" " * len(number) + " | " + " " * start)
            self._print(caret.append("^" * mark, "bold red"), indent=True)

    def _wrapped(self, text: str, room: int, limit: int) -> Text:
        limit = _MANY if self.verbose else limit
        lines = [
            piece
            for line in spell(text.strip("\n")[: limit * room * 2], self.encoding)
            for piece in (Text(line).wrap(self.console, room, overflow="fold") or [Text()])
        ]
        if len(lines) > limit:
            del lines[limit:]
            lines[-1].truncate(room - len(_CUT), overflow="crop")
            lines[-1].append(_CUT)
        for piece in lines:
            piece.rstrip()
        return Text("\n").join(lines)

    def _tail(self, text: str, room: int) -> str:
        """Return the end of a text that is too long: of a path, the end says most."""
        if cell_len(text) <= room:
            return text
        text = text[-max(room, 1) :]
        while text and cell_len(text) > room - 3:
            text = text[1:]
        return "..." + text

    def _dim(self, text: str, limit: int = 2) -> None:
        wrapped = self._wrapped(text, self.console.width, limit)
        wrapped.stylize("dim")
        self._print(wrapped)

    @property
    def _room(self) -> int:
        return self.console.width - len(_INDENT)

    def _print(self, part: Text | Table | str = "", *, indent: bool = False) -> None:
        self.console.print(Padding(part, (0, 0, 0, len(_INDENT))) if indent else part)


def _cells(point: Point) -> dict[str, str]:
    """Return a point's numbers with as many digits as it takes to see the difference."""
    digits = 6
    while (
        digits < 17
        and point.yours != point.expected
        and f"{point.yours:.{digits}g}" == f"{point.expected:.{digits}g}"
    ):
        digits += 1
    ratio = point.ratio
    return {
        "x": _number(point.x),
        "grad_output": "" if point.grad_output is None else _number(point.grad_output),
        "yours": f"{point.yours:.{digits}g}",
        "expected": f"{point.expected:.{digits}g}",
        "yours/expected": "" if ratio is None or math.isnan(ratio) else f"{ratio:.{digits}g}",
    }


def _number(value: float) -> str:
    return f"{value:.6g}"
