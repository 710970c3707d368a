"""A curve as a compact chart of characters, for a terminal that is wide enough."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotext

from grader.records import Curve

_WIDEST, _HEIGHT = 78, 16
#: Every so many points the numerical derivative is shown.
_SPARSE = 8
_FRAME_IN_ASCII = str.maketrans("┌┐└┘─│┤├┬┴", "++++-|++++")


def render(curve: Curve, *, width: int, encoding: str) -> str:
    """Return the chart as text without colour: a marker of its own tells each line apart."""
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(min(width, _WIDEST), _HEIGHT)
    key = []
    for label, marker, values, every in (
        ("true", ".", curve.true, 1),
        ("yours", "o", curve.yours, 1),
        ("numerical", "+", curve.numerical, _SPARSE),
    ):
        points = _finite(curve.x[::every], values[::every])
        if points:
            signal = figure.signal(*zip(*points, strict=True), marker=marker)
            figure.draw(signal.lines() if every == 1 else signal)
            key.append(f"{marker} {label}")
    chart = plotext.uncolorize(figure.build())
    lines = [f"dL/dx over x, for grad_output = 1:   {'   '.join(key)}", *chart.splitlines()]
    text = "".join(f"{line.rstrip()}\n" for line in lines)
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return text.translate(_FRAME_IN_ASCII)
    return text


def _finite(x: Sequence[float], y: Sequence[float]) -> list[tuple[float, float]]:
    """Leave out what no axis can hold."""
    return [(a, b) for a, b in zip(x, y, strict=False) if math.isfinite(b)]
