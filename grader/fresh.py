"""A judge in a fresh interpreter, for programs that are too large or too soiled to fork.

A notebook's kernel has run whatever its user wanted, nbgrader holds threads and a
database: neither should be what the judge is a copy of.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from grader.records import Report
from grader.service import GraderError, JudgeProcess
from grader.source import Source

_ROOT = Path(__file__).parents[1]


@dataclass
class FreshJudge:
    """Grades one file after another; its interpreter starts with the first and stays warm."""

    _process: subprocess.Popen[bytes] | None = None
    _errors: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def start(self) -> subprocess.Popen[bytes]:
        """Start the interpreter, if need be; it loads torch while this process goes on."""
        if self._process is not None:
            return self._process
        # Neither the working directory nor its torch.py may come before the real modules.
        path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "grader.fresh"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=_ROOT,
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,  # an interrupt of the kernel is not meant for it
        )
        return self._process

    def grade(self, source: Source, exercise: str, seed: int | None = None) -> Report:
        """Grade one submission.

        Raises:
            GraderError: the grader itself failed, and no student's code can be the cause.
        """
        requests, answers = _pipes(self.start())
        request = {
            "name": source.name,
            "data": base64.b64encode(source.data).decode(),
            "about": {"size": source.size, "unreadable": source.unreadable},
            "exercise": exercise,
            "seed": seed,
        }
        try:
            requests.write(json.dumps(request).encode() + b"\n")
            requests.flush()
            answer = answers.readline()
        except OSError:
            answer = b""
        except BaseException:  # interrupted: the answer that is under way belongs to nobody
            self.close(wait=0)
            raise
        if not answer:
            self.close()
            raise GraderError(self._last_words())
        reply = json.loads(answer)
        if "error" in reply:
            raise GraderError(reply["error"])
        return Report.from_dict(reply["report"])

    def close(self, wait: float = 5) -> None:
        """End the interpreter and all that belongs to it."""
        process, self._process = self._process, None
        if process is None:
            return
        requests, answers = _pipes(process)
        with contextlib.suppress(OSError):
            requests.close()
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        answers.close()

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "the grader's process ended without a word"


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    return cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)


def _serve() -> None:
    """Answer requests, a line of JSON each, until the other side hangs up."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed by accident is no answer
    judge = JudgeProcess()  # the judge that all notebooks and nbgrader use
    judge.start()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        data = base64.b64decode(request["data"])
        source = Source(request["name"], data, **request["about"])
        reply: dict[str, object]
        try:
            reply = {"report": judge.grade(source, request["exercise"], request["seed"]).to_dict()}
        except GraderError as error:
            reply = {"error": str(error)}
        answers.write(json.dumps(reply).encode() + b"\n")
        answers.flush()
    judge.close()


if __name__ == "__main__":
    _serve()
