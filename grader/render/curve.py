"""A curve as text: a chart for a terminal, and words for those who don't see it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from grader.records import Curve
from grader.render.text import spell

#: A chart needs so many columns.
NARROWEST = 60

_TOLERANCE = 1e-9
#: A central difference has about ten exact digits.
_TOLERANCE_NUMERICAL = 1e-5


def render(curve: Curve, *, columns: int, encoding: str) -> str:
    """Return the words, below a chart where a terminal has columns enough (0: no terminal)."""
    lines = textwrap.wrap("\n".join(spell(words(curve), encoding)), min(columns or 80, 80))
    text = "".join(f"{line}\n" for line in lines)
    if columns < NARROWEST or not drawable(curve):
        return text
    from grader.render import chart

    return f"{chart.render(curve, width=columns, encoding=encoding)}\n{text}"


def words(curve: Curve) -> str:
    """Say what a picture of this curve shows, in a sentence or two."""
    if not drawable(curve):
        return f"There is nothing of yours to draw: {curve.trouble.rstrip('.')}."
    sentences = []
    if curve.numerical and not _same(curve.numerical, curve.true, _TOLERANCE_NUMERICAL):
        sentences.append("The numerical derivative of your forward is not the true gradient.")
    if curve.yours:
        span = f"For x from {curve.x[0]:g} to {curve.x[-1]:g} and grad_output = 1, your gradient"
        sentences.append(f"{span} {_comparison(curve)}")
    else:
        sentences.append(f"There is no gradient of yours to draw: {curve.trouble.rstrip('.')}.")
    return " ".join(sentences)


def drawable(curve: Curve) -> bool:
    """Whether the student's code gave any numbers."""
    return bool(curve.yours or curve.numerical)


def _comparison(curve: Curve) -> str:
    yours, true = curve.yours, curve.true
    if _same(yours, true):
        return "lies on the true one. (Other values of grad_output are not in the picture.)"
    ratio = next((y / t for y, t in zip(yours, true, strict=True) if t), math.nan)
    if _same(yours, [ratio * t for t in true]):
        return f"is {ratio:.4g} times the true one everywhere."
    off = [abs(y - t) if math.isfinite(y) else math.inf for y, t in zip(yours, true, strict=True)]
    at = off.index(max(off))
    return (
        f"is farthest from the true one at x = {curve.x[at]:g}: "
        f"yours is {yours[at]:.4g}, the true one {true[at]:.4g}."
    )


def _same(these: Sequence[float], those: Sequence[float], tolerance: float = _TOLERANCE) -> bool:
    pairs = zip(these, those, strict=True)
    return all(abs(a - b) <= tolerance * (1 + abs(b)) for a, b in pairs)
