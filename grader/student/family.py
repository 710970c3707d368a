"""A student's process and all that it has started, found and ended with what psutil knows."""

from __future__ import annotations

import contextlib
import os
import sys
import time

import psutil

from grader.student import limits

_PATIENCE = 5


class Family:
    """The interpreter `root` with its descendants, also those whose parent has ended.

    They are known by their parent, their session or their environment, which
    names the scratch folder; whoever was seen once stays known. On Windows
    `root` may be the child of `launcher`, the python.exe of a virtual environment.
    """

    def __init__(self, root: int, launcher: int, scratch: str) -> None:
        self._scratch = scratch
        self._outer = {root, launcher}
        self._root = psutil.Process(root)
        self._born = self._root.create_time() - 0.1
        self._known = {root: True}
        self._memory = self._root.memory_info().rss
        self._cpu = _cpu(self._root)

    def excess(self) -> str:
        """What they use too much of, as in `limits.Status`, or ""."""
        family = self._members()
        if len(family) > limits.PROCESSES:
            return "processes"
        cpu = memory = 0.0
        for process in family:
            with contextlib.suppress(psutil.Error):
                cpu += _cpu(process)
                memory += max(0, process.memory_info().rss - self._memory)
        if cpu - self._cpu > limits.CPU_SECONDS:
            return "cpu"
        return "memory" if memory > limits.MEMORY_BYTES else ""

    def end(self) -> int:
        """Kill all but the launcher; returns how many there were besides the root."""
        ended: set[int] = set()
        deadline = time.monotonic() + _PATIENCE
        while (family := self._members()) and time.monotonic() < deadline:
            for process in family:
                ended.add(process.pid)
                with contextlib.suppress(psutil.Error):
                    process.kill()
            time.sleep(0.005)
        return len(ended - self._outer)

    def _members(self) -> list[psutil.Process]:
        """Whoever is alive of the family."""
        alive = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if (
                    process.create_time() >= self._born
                    and self._belongs(process)
                    and process.status() != psutil.STATUS_ZOMBIE
                ):
                    alive.append(process)
        return alive

    def _belongs(self, process: psutil.Process) -> bool:
        pid = process.pid
        if not self._known.get(pid):
            self._known[pid] = self._known.get(process.ppid(), False) or self._is_marked(process)
        return self._known[pid]

    def _is_marked(self, process: psutil.Process) -> bool:
        if sys.platform != "win32" and os.getsid(process.pid) == self._root.pid:
            return True
        return process.environ().get("TMPDIR") == self._scratch


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
