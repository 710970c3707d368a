"""How long autograding takes: this kit's way against nbgrader's own, on one notebook.

    python tests/bench/nbgrader.py [SUBMISSIONS [STOCK]]

Ours is timed whole, from the command to the last grade in the gradebook. For
nbgrader's own, a few submissions show what one more costs: its start is not
counted against it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Nothing of ours: a course as nbgrader's own documentation has it.
STOCK = """
c = get_config()
c.CourseDirectory.course_id = "stock"
c.Autograde.exclude_overwriting = {"cube": ["cube.py"]}
c.Execute.timeout = 120
"""


def run(course: Path, *command: str) -> float:
    """Run a command in a course's folder; returns its wall time."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *command],
        cwd=course,
        env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
        check=True,
    )
    return time.perf_counter() - started


def hand_in(course: Path, count: int) -> None:
    """Hand in right and wrong files in turn, each with the release's notebook."""
    shutil.rmtree(course / "submitted", ignore_errors=True)
    shutil.rmtree(course / "autograded", ignore_errors=True)
    for index in range(count):
        folder = course / "submitted" / f"student{index:04}" / "cube"
        shutil.copytree(course / "release" / "cube", folder)
        source = ("solution", "starter")[index % 2]
        shutil.copy(ROOT / source / "cube.py", folder)


def main(submissions: int = 300, few: int = 4) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as place:
        ours, stock = Path(place, "ours"), Path(place, "stock")
        run(ROOT, "grader", "course-new", str(ours))
        shutil.copytree(ours / "source", stock / "source")
        shutil.copy(ROOT / "starter" / "cube.py", stock / "source" / "cube")
        (stock / "nbgrader_config.py").write_text(STOCK)
        seconds = {}
        for course, counts in ((stock, (1, few)), (ours, (submissions,))):
            run(course, "nbgrader", "generate_assignment", "cube", "--log-level=WARN")
            for count in counts:
                hand_in(course, count)
                command = ("nbgrader", "autograde", "cube", "--log-level=WARN")
                seconds[course, count] = run(course, *command)
        one_more = (seconds[stock, few] - seconds[stock, 1]) / (few - 1)
        whole = seconds[ours, submissions]
    print(f"nbgrader's own   {one_more:7.2f} s for one more submission")
    print(f"this kit         {whole / submissions:7.2f} s each, {whole:.0f} s for {submissions}")
    print(f"ratio            {whole / submissions / one_more:7.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
