"""Measures a class against `import torch`, in one run: wall time, and memory as it grows.

    make bench-class
    python tests/bench/classroom.py [SIZE ...]     (default: 20 1000 10000)

Two jobs; right submissions. Before and after each class `import torch` is
measured, so that what else the machine does falls on both; a small class is
graded five times, and its medians count.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import psutil

ROOT = Path(__file__).resolve().parents[2]
JOBS = 2


def seconds_of(*arguments: str) -> float:
    """Return the wall time of one run of Python."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def import_torch() -> list[float]:
    """Return the wall times of three runs of `python -c "import torch"`."""
    return [seconds_of("-c", "import torch") for _ in range(3)]


class Memory(threading.Thread):
    """Watches what a process and all below it have in memory of their own."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.process, self.seen = psutil.Process(pid), list[float]()
        self.start()

    def run(self) -> None:
        """Look every two seconds."""
        while True:
            total = 0.0
            try:
                for process in [self.process, *self.process.children(recursive=True)]:
                    # What processes share, since they were forked, counts once.
                    total += process.memory_full_info().pss
            except psutil.Error:
                if not self.process.is_running():
                    return
                continue
            if total:  # it has not ended yet
                self.seen.append(total / 2**20)
            time.sleep(2)

    def __str__(self) -> str:
        """Give the median sum in the first and in the last tenth of the run."""
        part = max(1, len(self.seen) // 10)
        if not self.seen:
            return "?"
        return f"{median(self.seen[:part]):.0f} -> {median(self.seen[-part:]):.0f}"


def grade(size: int) -> tuple[float, str]:
    """Grade a class of this size; return seconds and memory."""
    with tempfile.TemporaryDirectory() as folder:
        submissions = Path(folder, "submissions")
        submissions.mkdir()
        for i in range(size):
            shutil.copy(ROOT / "solution/cube.py", submissions / f"student{i}.py")
        out = Path(folder, "out")
        started = time.perf_counter()
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "grader",
                "class",
                submissions,
                "--out",
                out,
                "--jobs",
                str(JOBS),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        memory = Memory(process.pid)
        said, _ = process.communicate()
        seconds = time.perf_counter() - started
        if f"{size} of {size} passed" not in said:
            sys.exit(f"not all passed: {said}")
        return seconds, str(memory)


def main(sizes: list[int]) -> None:
    """Print a line for each class."""
    print(f"{JOBS} jobs; times in units of `python -c 'import torch'`")
    print("  size   seconds   import   in all   each one   MiB, first -> last tenth")
    for size in sizes:
        units, all_seconds, memory = import_torch(), list[float](), ""
        for _ in range(5 if size < 100 else 1):
            seconds, memory = grade(size)
            all_seconds.append(seconds)
            units += import_torch()
        seconds, unit = median(all_seconds), median(units)
        print(
            f"{size:6} {seconds:9.1f} {unit:8.2f} {seconds / unit:8.2f} "
            f"{seconds / unit / size:10.4f}   {memory}",
            flush=True,
        )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [20, 1000, 10_000])
