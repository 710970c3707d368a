"""A submission as text: its bytes, whether Python can read them, its syntax tree.

Everything here is known before a line of the student's code has run.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property

from grader.records import Line

#: A larger file is not read.
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Trouble:
    """Why Python can't read the file: a mistake's key, what to say, and the place."""

    mistake: str
    words: str
    number: int | None = None
    column: int = 0
    severity: str = "error"


@dataclass(frozen=True)
class Source:
    """One submission: `name` as shown to people, `data` as it lies on disk.

    `size` is that of the whole file where `data` is only its beginning;
    `unreadable` says why there is no data at all.
    """

    name: str
    data: bytes
    size: int = 0
    unreadable: str = ""

    @cached_property
    def encoding(self) -> str:
        """The encoding that Python would use; utf-8 where nothing else is said."""
        try:
            encoding = tokenize.detect_encoding(io.BytesIO(self.data).readline)[0]
            b"x".decode(encoding, errors="replace")  # not every codec makes text (rot13)
        except (SyntaxError, LookupError, UnicodeError):
            return "utf-8"
        return encoding

    @cached_property
    def lines(self) -> list[str]:
        """The file's lines as text, for showing; what can't be decoded is replaced."""
        text = self.data.decode(self.encoding, errors="replace")
        return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    @cached_property
    def trouble(self) -> Trouble | None:
        """The first thing that keeps Python from reading the file, or None."""
        return self._before_parsing() or self._parsed[1]

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree, or None where there is none."""
        return None if self.trouble else self._parsed[0]

    def line(self, number: int | None, start: int = 0, end: int = 0) -> Line | None:
        """Line `number` (from 1) with its mark from column `start` to `end`, or None."""
        if number is None or not 1 <= number <= len(self.lines):
            return None
        text = self.lines[number - 1].rstrip()
        if not end:
            start, end = len(text) - len(text.lstrip()), len(text)
        return Line(number, text[:500], min(start, 500), min(end, 500))

    def line_of(self, node: ast.AST | None) -> Line | None:
        """The line on which `node` begins, with the node marked."""
        number = getattr(node, "lineno", None)
        line = self.line(number)
        if line is None or node is None:
            return None
        # Columns of a syntax tree count bytes of UTF-8.
        raw = self.lines[line.number - 1].encode()
        start = len(raw[: node.col_offset].decode(errors="ignore"))  # type: ignore[attr-defined]
        one_line = getattr(node, "end_lineno", None) == line.number
        stop = node.end_col_offset if one_line else len(raw)  # type: ignore[attr-defined]
        return self.line(line.number, start, len(raw[:stop].decode(errors="ignore")))

    def _before_parsing(self) -> Trouble | None:
        data = self.data
        if self.unreadable:
            return Trouble("unreadable-file", self.unreadable)
        if len(data) > MAX_BYTES:
            return Trouble(
                "file-too-large",
                f"The file has {max(self.size, len(data)) / 1e6:.1f} MB; this exercise needs about "
                "one thousandth of that, and more than 1 MB is not read.",
            )
        if not data.strip():
            return Trouble("empty-file", "The file is empty, so there is nothing to check.")
        if data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[1:2] == b"\0" or data[:1] == b"\0":
            return Trouble(
                "wrong-encoding",
                "The file is saved as UTF-16 (some editors call it 'Unicode'), which Python "
                "can't read. Save it as UTF-8.",
            )
        if b"\0" in data:
            return Trouble(
                "wrong-encoding", "The file has null bytes, so it is no text. Save it as UTF-8."
            )
        if data.lstrip()[:1] == b"{" and b'"cells"' in data and b'"nbformat"' in data:
            return Trouble(
                "notebook-as-py",
                "This is a notebook (.ipynb) that was saved with the ending .py. Copy the code "
                "of its cells into a plain Python file.",
            )
        for number, line in enumerate(self.lines, 1):
            if line.startswith(("<<<<<<< ", ">>>>>>> ")):
                return Trouble(
                    "merge-conflict",
                    "The file still has the marks of a merge conflict. Keep one of the two "
                    "versions and delete the lines with <<<<<<<, ======= and >>>>>>>.",
                    number,
                )
        return None

    @cached_property
    def _parsed(self) -> tuple[ast.Module | None, Trouble | None]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.data, "submission")
                compile(self.data, "submission", "exec", dont_inherit=True)
        except SyntaxError as error:
            return None, self._explain(error)
        except (ValueError, RecursionError, MemoryError, OverflowError):
            return None, Trouble(
                "syntax-error", "Python can't read the file: it is nested too deeply or no text."
            )
        return tree, None

    def _explain(self, error: SyntaxError) -> Trouble:
        number, column = error.lineno, max((error.offset or 1) - 1, 0)
        line = self.lines[number - 1] if number and number <= len(self.lines) else ""
        message = error.msg or "invalid syntax"
        if "utf-8" in message or "codec can't decode" in message or "encoding" in message:
            return Trouble(
                "wrong-encoding",
                "The file has bytes that are not UTF-8 (often an accented letter saved as "
                "Latin-1), so Python can't read it. Save it as UTF-8.",
                self._first_undecodable_line(),
            )
        if isinstance(error, IndentationError):
            return Trouble(
                "indentation-error",
                f"Python can't read the indentation: {message}. The lines that belong to a def "
                "or class stand four spaces further right than it.",
                number,
                column,
            )
        quotes = [c for c in "“”‘’„‟«»" if c in line]
        if quotes and "invalid character" in message:
            return Trouble(
                "smart-quotes",
                f"The quotes in this line are typographic ones ({quotes[0]}), as a word processor "
                "or a chat makes them. Type plain quotes: \" or '.",
                number,
                line.index(quotes[0]),
            )
        if line.lstrip().startswith(("%", "!")):
            return Trouble(
                "notebook-magic",
                "Lines that begin with % or ! are commands of a notebook; Python itself can't "
                "read them. Delete them from this file.",
                number,
                len(line) - len(line.lstrip()),
            )
        return Trouble("syntax-error", f"Python can't read this line: {message}.", number, column)

    def _first_undecodable_line(self) -> int | None:
        for number, raw in enumerate(self.data.split(b"\n"), 1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError:
                return number
        return None

    @property
    def advice(self) -> Trouble | None:
        """What Python accepts today but other programs won't."""
        try:
            self.data.decode(self.encoding)
        except (UnicodeDecodeError, LookupError):
            return Trouble(
                "wrong-encoding",
                "The file has bytes that are not UTF-8 (an accented letter saved as Latin-1?). "
                "It works here because they stand in a comment; save it as UTF-8.",
                self._first_undecodable_line(),
                severity="advice",
            )
        return None
