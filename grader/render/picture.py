"""A curve as a picture in a file, PNG or SVG by the file's ending.

The lines differ in colour (of a palette that colour-blind people can tell
apart), in style and in markers, so that no colour is needed to read it.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from grader.records import Curve
from grader.render.curve import words

ENDINGS = (".png", ".svg")

# Three of the colours of Okabe and Ito, "Color Universal Design" (2008).
_BLUE, _VERMILLION, _BLACK = "#0072B2", "#D55E00", "#000000"
_SPARSE = 5


def save(curve: Curve, path: Path) -> None:
    """Draw the gradients above and yours minus the true one below; write the file.

    Raises:
        OSError: the file can't be written.
    """
    figure = Figure(figsize=(7, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.plot(curve.x, curve.true, color=_BLUE, linewidth=2, label="true gradient")
    if curve.yours:
        above.plot(
            curve.x, curve.yours, "--", color=_VERMILLION, linewidth=2.5, label="yours", zorder=3
        )
        off = [y - t for y, t in zip(curve.yours, curve.true, strict=True)]
        below.plot(curve.x, off, "--", color=_VERMILLION, linewidth=2)
        below.fill_between(curve.x, off, color=_VERMILLION, alpha=0.2, linewidth=0)
        # Rounding errors should look like what they are: nothing.
        least = 0.01 * max(map(abs, curve.true))
        if max(map(abs, off)) < least:
            below.set_ylim(-least, least)
    else:
        below.text(0.5, 0.5, "no gradient of yours", ha="center", transform=below.transAxes)
    if curve.numerical:
        above.plot(
            curve.x[::_SPARSE],
            curve.numerical[::_SPARSE],
            "o",
            color=_BLACK,
            markerfacecolor="none",
            label="numerical derivative of your forward",
            zorder=4,
        )
    above.set_title(f"{curve.exercise}: the gradient over x, for grad_output = 1")
    above.set_ylabel("dL/dx")
    above.legend()
    below.axhline(0, color=_BLACK, linewidth=0.8)
    below.set_ylabel("yours - true")
    below.set_xlabel("x")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    about: dict[str, str | None] = {
        "Title": f"{curve.exercise}: the gradient over x",
        "Description": words(curve),
    }
    if path.suffix.lower() == ".svg":
        about["Date"] = None  # the same curve, the same file
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata=about)
