"""The light side of grading: a judge in a process of its own, outlived by this one.

    this process (no torch) ── judge (torch) ── nursery ── student

Whatever a student's code does to the processes above it, a report comes back.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

from grader import judge
from grader.records import Curve, Diagnosis, Report
from grader.source import MAX_BYTES, Source


class GraderError(Exception):
    """A fault of usage, of the environment or of the grader; its text says what to do."""


@dataclass(eq=False)
class JudgeProcess:
    """A judge that grades one file after another, warm after the first."""

    #: Whether processes are forked; where they aren't, second interpreters start.
    fork: bool = judge.FORKS

    def __post_init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None
        self._busy = False

    def start(self) -> None:
        """Start the judge; it loads torch while this process goes on."""
        if self._process is not None:
            return
        # Fork from this small process is cheap.
        context: Any = multiprocessing.get_context("fork" if self.fork else "spawn")
        ours, theirs = context.Pipe()
        if self.fork:
            self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        else:  # the other interpreter opens it by its name
            self._errors = tempfile.NamedTemporaryFile(delete=False)  # noqa: SIM115 - as above
        errors = self._errors.fileno() if self.fork else self._errors.name
        self._process = context.Process(target=_run, args=(theirs, ours, errors))
        self._process.start()
        theirs.close()
        self._connection: Connection = ours

    def grade(
        self, source: Source, exercise: str, seed: int | None = None, *, strict: bool = False
    ) -> Report:
        """Grade one submission.

        Raises:
            GraderError: the grader itself failed, and no student's code can be the cause.
        """
        self.submit(source, exercise, seed, strict=strict)
        return self.collect()

    def submit(
        self, source: Source, exercise: str, seed: int | None = None, *, strict: bool = False
    ) -> None:
        """Hand in one submission; `collect` waits for its report."""
        self._ask("grade", source, exercise, seed=seed, strict=strict)

    def collect(self) -> Report:
        """Return the report on what was submitted; raises what `grade` raises."""
        _, source, exercise, options = self._asked
        try:
            return Report.from_dict(self._answer())
        except _Killed as killed:
            return killed_report(source, exercise, options["seed"], killed.words)

    def curve(self, source: Source, exercise: str) -> Curve:
        """Return the numbers of a picture of one submission; raises what `grade` raises."""
        self._ask("curve", source, exercise)
        try:
            return Curve(**self._answer())
        except _Killed as killed:
            return Curve(exercise, source.name, (), (), trouble=killed.words)

    def fileno(self) -> int:
        """Return what becomes readable when there is something to `collect`."""
        return self._connection.fileno()

    def _ask(self, kind: str, source: Source, exercise: str, **options: Any) -> None:
        self.start()
        self._asked = kind, source, exercise, options
        self._busy = True
        request = {"kind": kind, "name": source.name, "exercise": exercise, "options": options}
        request["about"] = {"size": source.size, "unreadable": source.unreadable}
        with contextlib.suppress(OSError):  # that the judge is gone is seen by `_answer`
            self._connection.send_bytes(json.dumps(request).encode())
            self._connection.send_bytes(source.data)

    def _answer(self) -> Any:
        try:
            answer = self._connection.recv_bytes()
        except (EOFError, OSError):
            assert self._process is not None
            self._process.join(5)
            code, errors = self._process.exitcode, self._read_errors()
            self.close()
            if code == judge.RETIRED:
                kind, source, exercise, options = self._asked
                self._ask(kind, source, exercise, **options)  # a new judge takes it over
                return self._answer()
            if code is not None and (
                code < 0 or (sys.platform == "win32" and code > judge.RETIRED)
            ):
                raise _Killed(abs(code)) from None
            raise GraderError(_last_line(errors) or f"the judge ended with status {code}") from None
        self._busy = False
        return json.loads(answer)

    def _read_errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def close(self) -> None:
        """End the judge and all that belongs to it, even in the midst of its work."""
        if self._process is None:
            return
        if self._busy and self._process.pid:
            with contextlib.suppress(ProcessLookupError):
                # On Windows this is its end; the student's process sees that, and cleans up.
                stop = signal.SIGTERM if sys.platform == "win32" else signal.SIGINT
                os.kill(self._process.pid, stop)
        self._connection.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._errors.close()
        if not self.fork:
            Path(self._errors.name).unlink()
        self._process = None
        self._busy = False


class _Killed(Exception):  # noqa: N818 - what happened, not whose fault
    """The judge was ended by a signal: the student's code may have sent it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.words = f"The process that was grading your code was ended by signal {number}."


def _run(connection: Connection, other_end: Connection, errors: int | str) -> None:
    """The judge's process; what it writes by accident goes into a file, not on the terminal.

    Forked, it has that file open already; otherwise it gets the name.
    """
    other_end.close()
    fork = isinstance(errors, int)
    os.dup2(errors if isinstance(errors, int) else os.open(errors, os.O_WRONLY | os.O_APPEND), 2)
    judge.serve(connection, judge.nurseries(fork=fork))


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def killed_report(source: Source, exercise: str, seed: int | None, words: str) -> Report:
    """The report for code that ended the judge: like any other crash, with the reason."""
    diagnosis = Diagnosis(
        mistake="kills-parent",
        severity="error",
        title="Your code ended the program that runs it",
        explanation=f"{words} No exercise needs to signal or end other processes.",
        evidence="",
        line=None,
        hint="Which line starts, signals or ends a process?",
    )
    from grader.checks import MAX_SCORE, unchecked
    from grader.exercises import EXERCISES

    return Report(
        exercise=exercise,
        file=source.name,
        verdict="fail",
        score=0,
        max_score=MAX_SCORE,
        checks=unchecked(EXERCISES[exercise], words),
        diagnoses=(diagnosis,),
        seed=seed or 0,
        seconds=0,
    )


def read_source(path: Path) -> Source:
    """Read a submission; a path that can't be read gives a source that fails with the reason."""
    name = str(path)
    try:
        with path.open("rb") as file:
            return Source(name, file.read(MAX_BYTES + 1), size=os.fstat(file.fileno()).st_size)
    except IsADirectoryError:
        unreadable = "This is a folder, not a file. Name the file in it, such as cube.py."
    except FileNotFoundError:
        unreadable = "There is no file of this name. Check the path and the folder you are in."
    except OSError as error:
        unreadable = f"The file can't be read: {error.strerror}."
    return Source(name, b"", unreadable=unreadable)


@contextlib.contextmanager
def warm_judge() -> Iterator[JudgeProcess]:
    """A judge that is loading torch already, closed at the end."""
    process = JudgeProcess()
    process.start()
    try:
        yield process
    finally:
        process.close()
