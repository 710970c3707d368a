"""Measures a whole grade against `import torch`: wall time and memory, in turn.

    make bench
    python tests/bench/grade.py [PAIRS]

Both run in processes of their own, one after the other, so that what else the
machine does falls on both. Memory is that of the largest single process.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS = {
    "import torch": ["-c", "import torch"],
    "grade": ["-m", "grader", "grade", "solution/cube.py"],
}


def measure(arguments: list[str]) -> tuple[float, float]:
    """Return seconds and MiB of one run of Python.

    A fork runs it: what the system counts for the children of a process then
    counts this run alone, with all the processes that it waited for.
    """
    read, write = os.pipe()
    if not os.fork():
        started = time.perf_counter()
        quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        command = [sys.executable, *arguments]
        pid = os.posix_spawn(sys.executable, command, os.environ, file_actions=quiet)
        status = os.waitpid(pid, 0)[1]
        seconds = time.perf_counter() - started
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        os.write(write, f"{status} {seconds} {memory}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        status, seconds, memory = map(float, answer.read().split())
    os.wait()
    if status:
        sys.exit(f"failed: python {' '.join(arguments)}")
    return seconds, memory / (1024 * 1024 if sys.platform == "darwin" else 1024)


def main(pairs: int = 11) -> None:
    """Print medians and ratios."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in RUNS}
    os.chdir(ROOT)
    for arguments in RUNS.values():
        measure(arguments)  # a warm-up: files come into the system's cache
    for _ in range(pairs):
        for name, arguments in RUNS.items():
            seen[name].append(measure(arguments))
    print(f"{pairs} pairs, medians    seconds    MiB")
    medians = {}
    for name, results in seen.items():
        medians[name] = [statistics.median(column) for column in zip(*results, strict=True)]
        print(f"{name:20} {medians[name][0]:9.3f} {medians[name][1]:6.0f}")
    base, grade = medians.values()
    pairwise = [g[0] / t[0] for t, g in zip(*seen.values(), strict=True)]
    print(f"{'ratio':20} {grade[0] / base[0]:9.2f} {grade[1] / base[1]:6.2f}")
    print(f"ratio of each pair: {min(pairwise):.2f} to {max(pairwise):.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
