"""Makes any string safe to print: no control characters, nothing the encoding lacks."""

from __future__ import annotations

import re

_TAB = " " * 4

_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵖᑫ", "0123456789+-npq")
_POWER_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵖᑫ]+")

#: What our own texts use, spelt for a terminal that has only ASCII.
_SPELT = {
    "→": "to",
    "·": "*",
    "×": "*",
    "÷": "/",
    "√": "sqrt",
    "∂": "d",
    "∞": "inf",
    "≈": "~",
    "≠": "!=",
    "≤": "<=",
    "≥": ">=",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "✓": "ok",
}


def escape_controls(text: str) -> str:
    r"""Show as an escape (``\x1b``, ``\u202e``) what would act instead of being read.

    That is all but printable characters and spaces: control characters, line
    breaks, text direction, invisible and lone surrogate characters.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def quote(text: str, encoding: str) -> str:
    """Return a line of the student's file, or a path: exact, escaped where it must be."""
    text = escape_controls(text.replace("\t", _TAB))
    if _fits(text, encoding):
        return text
    return "".join(c if _fits(c, encoding) else _escape(c) for c in text)


def spell(text: str, encoding: str) -> list[str]:
    """Return the lines of a text, with x³ as x^3 where the encoding has no ³."""
    if not _fits(text, encoding):
        text = _POWER_RUN.sub(
            lambda m: m[0] if _fits(m[0], encoding) else "^" + m[0].translate(_POWERS), text
        )
        text = "".join(c if _fits(c, encoding) else _SPELT.get(c, c) for c in text)
    return [quote(line, encoding) for line in text.split("\n")]


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _fits(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except LookupError:
        return text.isascii()
    except UnicodeEncodeError:
        return False
    return True
