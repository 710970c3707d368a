"""Judges that work side by side and share one import of torch; who falls is replaced."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Protocol

from grader.records import Report
from grader.service import GraderError, killed_report
from grader.source import Source

#: A judge that says nothing for so long is stuck: every limit has struck long before.
_PATIENCE = 120.0
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Task:
    """One submission to be graded."""

    student: str
    source: Source
    exercise: str
    seed: int


class Grader(Protocol):
    """Whatever grades many tasks: a crew on this machine, or a cluster."""

    def grade(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Report | GraderError]]:
        """Grade all tasks, in any order."""

    def close(self) -> None:
        """End all that was started for it."""


@dataclass
class _Judge:
    """Our end of a judge's connection, and what it is at work on."""

    connection: Connection
    task: Task | None = None
    since: float = 0.0

    def give(self, task: Task) -> None:
        self.task, self.since = task, time.monotonic()
        source = task.source
        about = {"size": source.size, "unreadable": source.unreadable}
        request = {"kind": "grade", "name": source.name, "exercise": task.exercise}
        options = {"seed": task.seed, "strict": False}
        with contextlib.suppress(OSError):  # then it has ended, and `take` sees that
            message = {**request, "options": options, "about": about}
            self.connection.send_bytes(json.dumps(message).encode())
            self.connection.send_bytes(source.data)

    def take(self) -> Report | None:
        """The report, or None where the judge has ended without one."""
        try:
            return Report.from_dict(json.loads(self.connection.recv_bytes()))
        except (EOFError, OSError):
            return None


@dataclass
class Crew:
    """Up to `jobs` judges; `trusted` is why students' code is not shut in, or ""."""

    jobs: int
    trusted: str = ""
    _judges: list[_Judge] = field(default_factory=list)
    _house: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start loading torch."""
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        with theirs:
            self._house = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "grader.classroom.house",
                    str(theirs.fileno()),
                    self.trusted,
                ],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=[theirs.fileno()],
                cwd=_ROOT,
                start_new_session=True,  # a ^C is for us alone
            )
        self._ready, self._heard = False, 0

    def close(self) -> None:
        """End all judges and students."""
        self._end_house()
        for judge in self._judges:
            judge.connection.close()
        self._judges = []

    def _end_house(self) -> None:
        """End the house; its judges end with it, which their connections tell."""
        if self._house:
            self._requests.close()
            self._house.kill()
            self._house.wait()
            self._errors.close()
        self._house = None

    def grade(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Report | GraderError]]:
        """Grade all tasks; the reports come as they are ready.

        A task whose judge was ended is graded once more, alone, after all
        others: so only the code that ends judges pays for it.

        Raises:
            GraderError: no judge can be started.
        """
        fallen: list[Task] = []
        for task, report in self._grade(tasks, self.jobs):
            if report is None:
                fallen.append(task)
            else:
                yield task, report
        for task in fallen:
            for _, report in self._grade([task], 1):
                yield task, report or _ended_us(task)

    def _grade(
        self, tasks: Iterable[Task], jobs: int
    ) -> Iterator[tuple[Task, Report | GraderError | None]]:
        waiting, source = deque[Task](), iter(tasks)
        busy: list[_Judge] = []
        while True:
            while len(busy) < jobs and (task := self._next(waiting, source)):
                judge = self._free_judge(busy)
                judge.give(task)
                busy.append(judge)
            if not busy:
                return
            ready = wait([judge.connection for judge in busy], timeout=1)
            for judge in [j for j in busy if j.connection in ready]:
                busy.remove(judge)
                assert judge.task is not None
                report = judge.take()
                if report is None:
                    judge.connection.close()
                    self._judges.remove(judge)
                yield judge.task, report or self._fault()
            if any(time.monotonic() - judge.since > _PATIENCE for judge in busy):
                stuck = {j.task for j in busy if time.monotonic() - j.since > _PATIENCE}
                waiting.extend(j.task for j in busy if j.task and j.task not in stuck)
                busy.clear()
                self.close()
                yield from ((task, None) for task in stuck if task)

    def _fault(self) -> GraderError | None:
        """What a judge said before it ended; None where it was ended without a word."""
        if self._house is None:
            return None
        self._errors.seek(self._heard)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        self._heard = self._errors.tell()
        return GraderError(lines[-1]) if lines else None

    @staticmethod
    def _next(waiting: deque[Task], source: Iterator[Task]) -> Task | None:
        return waiting.popleft() if waiting else next(source, None)

    def _free_judge(self, busy: list[_Judge]) -> _Judge:
        for judge in self._judges:
            if judge not in busy and not judge.connection.poll():
                return judge
        # A judge with something to say, unasked, has retired.
        self._judges = [judge for judge in self._judges if judge in busy]
        judge = self._new_judge()
        self._judges.append(judge)
        return judge

    def _new_judge(self) -> _Judge:
        for _ in range(3):  # a house that was ended is built again
            if self._house is None:
                self.start()
            self._wait_for_house()
            ours, theirs = socket.socketpair()
            with theirs, contextlib.suppress(OSError):
                socket.send_fds(self._requests, [b"judge"], [theirs.fileno()])
                return _Judge(Connection(ours.detach()))
            ours.close()
            self._end_house()
        raise GraderError("the process that grades ends again and again")

    def _wait_for_house(self) -> None:
        if self._ready:
            return
        self._requests.settimeout(_PATIENCE)
        try:
            message = self._requests.recv(4096).decode()
        except OSError as error:
            message = str(error)
        if message != "ready":
            fault = self._fault()
            self._end_house()
            raise fault or GraderError(message or "the grader did not start")
        self._requests.settimeout(None)
        self._ready = True


def _ended_us(task: Task) -> Report:
    words = "Your code ended the processes that were grading it, twice."
    return killed_report(task.source, task.exercise, task.seed, words)
