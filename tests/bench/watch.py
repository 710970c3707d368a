"""Measures `grader watch`: from a save to its report, also as a share of a cold grade.

    make bench
    python tests/bench/watch.py [SAVES]

A copy of the starter is watched; each save puts the solution there, or the
starter again. Cold grades are measured in between, so that what else the
machine does falls on both.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GRADER = [sys.executable, "-m", "grader"]
#: After so many saves comes a cold grade.
EVERY = 4


def until_report(watch: subprocess.Popen[str]) -> float:
    """Read up to the last line of a report; returns the time."""
    assert watch.stdout is not None
    for line in watch.stdout:
        if " of 5 checks" in line:
            return time.perf_counter()
    sys.exit("the watch ended")


def cold_grade(path: Path) -> float:
    """Return the seconds of one grade from nothing."""
    started = time.perf_counter()
    subprocess.run([*GRADER, "grade", path], cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main(saves: int = 20) -> None:
    """Print medians and their ratio."""
    versions = itertools.cycle(
        (ROOT / f"{name}/cube.py").read_bytes() for name in ("solution", "starter")
    )
    warm, cold = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cube.py")
        path.write_bytes((ROOT / "starter/cube.py").read_bytes())
        command = [*GRADER, "watch", path]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as watch:
            until_report(watch)
            for number in range(saves):
                if number % EVERY == 0:
                    cold.append(cold_grade(path))
                time.sleep(0.1)
                started = time.perf_counter()
                path.write_bytes(next(versions))
                warm.append(until_report(watch) - started)
            watch.terminate()
    print(f"{saves} saves, median seconds from save to report: {statistics.median(warm):.3f}")
    print(f"from {min(warm):.3f} to {max(warm):.3f}")
    median = statistics.median(cold)
    print(f"{len(cold)} cold grades, median seconds: {median:.3f}")
    print(f"share: {statistics.median(warm) / median:.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
