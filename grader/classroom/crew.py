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

#: With a task in advance, a judge need not wait while a report is written.
_TASKS = 2
#: What can be sent in advance, in bytes, without waiting for the judge to take it.
_IN_ADVANCE = 1 << 16
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
    """Our end of a judge's connection, and the tasks that it has, the current one first."""

    connection: Connection
    tasks: deque[Task] = field(default_factory=deque)
    since: float = 0.0

    def give(self, task: Task) -> None:
        if not self.tasks:
            self.since = time.monotonic()
        self.tasks.append(task)
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
        done: list[tuple[Task, Report | GraderError | None]] = []
        while True:
            while self._has_room(jobs) and (task := self._next(waiting, source)):
                judge = self._judge_with_room(jobs)
                if judge.tasks and len(task.source.data) > _IN_ADVANCE:
                    waiting.appendleft(task)
                    break
                judge.give(task)
            # Whoever takes the reports works on them while the judges do.
            yield from done
            done = []
            busy = [judge for judge in self._judges if judge.tasks]
            if not busy:
                return
            ready = wait([judge.connection for judge in busy], timeout=1)
            for judge in [j for j in busy if j.connection in ready]:
                report = judge.take()
                done.append((judge.tasks.popleft(), report or self._fault()))
                judge.since = time.monotonic()
                if report is None:
                    judge.connection.close()
                    self._judges.remove(judge)
                    waiting.extend(judge.tasks)
            late = time.monotonic() - _PATIENCE
            if any(judge.tasks and judge.since < late for judge in self._judges):
                done += [
                    (j.tasks.popleft(), None) for j in self._judges if j.tasks and j.since < late
                ]
                waiting.extend(task for judge in self._judges for task in judge.tasks)
                self.close()

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

    def _has_room(self, jobs: int) -> bool:
        return len(self._judges) < jobs or any(len(j.tasks) < _TASKS for j in self._judges[:jobs])

    def _judge_with_room(self, jobs: int) -> _Judge:
        # A judge with something to say, unasked, has retired.
        self._judges = [j for j in self._judges if j.tasks or not j.connection.poll()]
        if len(self._judges) < jobs:
            self._judges.append(self._new_judge())
        return min(self._judges[:jobs], key=lambda judge: len(judge.tasks))

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
