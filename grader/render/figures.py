"""Pictures as SVG, to stand in a page; the page says the same in words."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

#: Texts stay texts, in the page's own font; equal data make equal files.
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "grader",
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
}
_PASS, _FAIL, _INK = "#1b7f5c", "#b5543a", "#3b4252"


def histogram(scores: Sequence[float], max_score: float) -> str:
    """How many students have each score, as an SVG element; full points in another colour."""
    top = round(max_score)
    counts = [sum(round(score) == i for score in scores) for i in range(top + 1)]
    with rc_context(_SETTINGS):
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        axes = figure.add_subplot()
        bars = axes.bar(range(top + 1), counts, width=0.82, color=[_FAIL] * top + [_PASS])
        labels = [str(count) if count else "" for count in counts]
        axes.bar_label(bars, labels, padding=2, color=_INK, fontweight="bold")
        axes.set_xticks(range(top + 1))
        axes.set_xlabel("points", color=_INK)
        axes.set_yticks([])
        axes.set_ylim(0, max(counts, default=0) * 1.15 + 0.5)
        axes.tick_params(colors=_INK, length=0)
        axes.spines["bottom"].set_color("#c8ced8")
        svg = io.StringIO()
        figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
    return svg.getvalue()[svg.getvalue().index("<svg") :]
