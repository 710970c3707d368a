"""The judge: one submission in, one report out. It never imports a student's file."""

from __future__ import annotations

import dataclasses
import gc
import importlib
import json
import os
import platform
import secrets
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from grader.records import Curve, Exercise, Layer, Report
from grader.source import Source

if TYPE_CHECKING:
    from grader.checks import Observations
    from grader.student.process import Nest, Student


#: Whether students' processes are forked; macOS has fork, too, but isn't safe after it.
FORKS = sys.platform == "linux"


def nurseries(*, fork: bool = FORKS) -> Callable[[], Nest]:
    """What makes the nurseries of a judge; without fork, the first is on its way already."""
    if fork:
        return _forked
    from grader.student.portable import Interpreters

    return Interpreters().start().nursery


def _forked() -> Nest:
    if sys.platform == "linux":
        from grader.student.forked import Nursery

        return Nursery.fork()
    raise OSError("a nursery is forked on Linux only")


class Judge:
    """Grades one file after another; torch is loaded once.

    Everything is loaded in `warm_up`, in this order: torch, the nursery (which
    must not hold the answers), the exercises and checks. Where nothing is forked,
    the second interpreter starts before all that.
    """

    def __init__(self, nursery: Callable[[], Nest] | None = None) -> None:
        self._make_nursery = nursery or nurseries()
        self._nursery: Nest | None = None

    def warm_up(self) -> None:
        """Load torch and fork the nursery, once; get ready for the next submission."""
        if self._nursery:
            self._nursery.prepare()
            return
        from grader.student.preload import load_torch

        load_torch()
        self._nursery = self._make_nursery()
        gc.enable()
        gc.freeze()

    @property
    def retired(self) -> bool:
        """Whether student code has ended the nursery, and a new one would see the answers.

        One that was forked from this process can't be forked again: by now the
        exercises are loaded here.
        """
        nursery = self._nursery
        return nursery is not None and nursery.pid is not None and not nursery.ready

    def _ready_nursery(self) -> Nest:
        """The nursery, or a new one in place of one that a student's code has ended."""
        assert self._nursery is not None
        if not self._nursery.ready:
            self._nursery.close()
            self._nursery = self._make_nursery()
        return self._nursery

    def grade(
        self, source: Source, exercise_name: str, seed: int | None = None, *, strict: bool = False
    ) -> Report:
        """Grade one submission; the seed is drawn after the student's code was loaded."""
        started = time.perf_counter()
        self.warm_up()
        from grader.student.process import Student

        # The student's process starts while the rest is loaded here.
        student = None if source.trouble else Student(self._ready_nursery(), exercise_name)
        later = threading.Thread(target=importlib.import_module, args=("grader.diagnosis",))
        later.start()
        from grader import checks
        from grader.exercises import EXERCISES

        exercise = EXERCISES[exercise_name]
        layers: tuple[Layer, ...] = ()
        output, left_behind = "", 0
        events: tuple[tuple[str, str], ...] = ()
        if student is None:
            assert source.trouble is not None
            seen, number = checks.Observations(exercise), seed or 0
            results = checks.unchecked(exercise, source.trouble.words.partition(". ")[0])
        else:
            seen, number = _observe(student, exercise, source, seed)
            if student.lost and student.nest.pid is None:
                # Not only this student's code may have ended a nursery that others are near.
                student = Student(self._ready_nursery(), exercise_name)
                seen, number = _observe(student, exercise, source, seed)
            seen.signalled = any(
                event in ("os.kill", "os.killpg") and not detail.endswith(", 0")
                for event, detail in student.events
            )
            results = checks.judge(seen)
            layers = student.layers()
            output = student.output.decode(errors="replace")
            events, left_behind = tuple(student.events), student.left_behind
        later.join()
        from grader import diagnosis

        found = diagnosis.diagnose(
            source, seen, results, events=events, output=output, left_behind=left_behind
        )
        passed = all(r.status == "pass" for r in results)
        if strict and found:
            passed = False
        return Report(
            exercise=exercise.name,
            file=source.name,
            verdict="pass" if passed else "fail",
            score=sum(r.points for r in results),
            max_score=checks.MAX_SCORE,
            checks=results,
            diagnoses=found,
            seed=number,
            seconds=round(time.perf_counter() - started, 3),
            versions=_versions(),
            isolation=layers,
            praise=checks.praise(seen) if passed else "",
            output=output,
            events=tuple(f"{event} {detail}".rstrip() for event, detail in events),
        )

    def curve(self, source: Source, exercise_name: str) -> Curve:
        """The numbers of a picture of one submission."""
        self.warm_up()
        from grader import curve
        from grader.exercises import EXERCISES
        from grader.student.process import Student

        exercise = EXERCISES[exercise_name]
        if source.trouble:
            return curve.trace(None, exercise, source)
        student = Student(self._ready_nursery(), exercise.name)
        try:
            return curve.trace(student, exercise, source)
        finally:
            student.close()

    def close(self) -> None:
        """End the nursery."""
        if self._nursery:
            self._nursery.close()


def _observe(
    student: Student, exercise: Exercise, source: Source, seed: int | None
) -> tuple[Observations, int]:
    """Put all questions to a student's process and end it; without a seed, one is drawn."""
    from grader import checks

    try:
        return checks.observe(
            student,
            exercise,
            source.data,
            lambda: seed if seed is not None else secrets.randbits(32),
        )
    finally:
        student.close()


def _versions() -> dict[str, str]:
    import numpy as np
    import torch

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


#: The exit status of a judge that asks to be replaced.
RETIRED = 3


def serve(connection: Connection, nursery: Callable[[], Nest] | None = None) -> None:
    """Answer requests, as JSON, until the other side hangs up; then end this process."""
    code = 1
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt_once)
    judge = Judge(nursery)
    try:
        while not judge.retired:
            judge.warm_up()
            request = json.loads(connection.recv_bytes())
            source = Source(request["name"], connection.recv_bytes(), **request["about"])
            answer = _ANSWERS[request["kind"]](
                judge, source, request["exercise"], **request["options"]
            )
            connection.send_bytes(json.dumps(dataclasses.asdict(answer)).encode())
        code = RETIRED
    except EOFError:
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        judge.close()
        sys.stderr.flush()
        os._exit(code)  # torch's own teardown would cost a third of a second


#: What can be asked for, by the request's kind.
_ANSWERS: dict[str, Callable[..., Report | Curve]] = {"grade": Judge.grade, "curve": Judge.curve}


def _interrupt_once(*_: object) -> None:
    """Go by way of every `finally`, and let no second signal stop what cleans up."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
