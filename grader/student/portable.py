"""Students' processes on any system: each is a second interpreter, looked after from here.

    judge ── student (untrusted)

It loads torch while the judge does the same. Nothing here needs more than
Windows, macOS and Linux have in common.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self, cast

from grader.records import Layer
from grader.student import limits
from grader.student.limits import Status
from grader.student.pipes import Pipes

if TYPE_CHECKING:
    from grader.student.family import Family
    from grader.student.wire import Channel

_ROOT = Path(__file__).parents[2]
_TICK = 0.1
#: From here on, Windows' exit codes name what crashed a process.
_CRASHED = 0xC0000000


class Interpreters:
    """A place for each student; the next one starts ahead of time."""

    pid: int | None = None
    refusal: str | None = "only with Linux namespaces; here a second interpreter runs the code"
    ready = True

    def __init__(self) -> None:
        self._next: Interpreter | None = None

    def start(self) -> Self:
        """Let the first interpreter start loading torch."""
        self.prepare()
        return self

    def nursery(self) -> Self:
        """Return itself: what the judge asks for once it has torch loaded."""
        return self

    def prepare(self) -> None:
        """Start the interpreter for the next student."""
        self._next = self._next or Interpreter()

    def place(self, module: str, *, namespaces: bool) -> Interpreter:
        """Let the interpreter that is ready serve `module`."""
        self.prepare()
        place, self._next = self._next, None
        assert place is not None
        place.admit(module)
        return place

    def layers_around(self, refusal: str | None) -> tuple[Layer, ...]:
        """The layers around a student; `refusal` is why there are no namespaces."""
        files = "" if sys.platform == "win32" else f", files {limits.FILE_BYTES >> 20} MiB"
        words = (
            f"CPU {limits.CPU_SECONDS} s, wall {limits.WALL_SECONDS} s, "
            f"memory {limits.MEMORY_BYTES >> 30} GiB beyond torch, {limits.PROCESSES} processes, "
            f"all looked at every {_TICK} s; output {limits.OUTPUT_TAKEN >> 20} MiB{files}"
        )
        names = ("process namespace", "no network", "read-only files")
        return (
            Layer("own process", on=True, why="ended with all that it starts and that is found"),
            Layer("limits", on=True, why=words),
            *(Layer(name, on=False, why=refusal or "") for name in names),
        )

    def close(self) -> None:
        """End the interpreter that nobody needed."""
        if self._next:
            self._next.leave(0)
            self._next = None


class Interpreter:
    """An interpreter for one student; see `process.Place`."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.events: bytes | bytearray = b""
        self.flooded = False
        # What is told by the child stands in a file of ours, beside its scratch folder.
        self._home = os.path.realpath(tempfile.mkdtemp(prefix="grader-"))
        self._scratch = os.path.join(self._home, "work")
        self._events = os.path.join(self._home, "events")
        os.mkdir(self._scratch)
        path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "grader.student.launch", self._events],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=self._scratch,
            env=os.environ | {"PYTHONPATH": path, "TMPDIR": self._scratch},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        streams = self._process.stdin, self._process.stdout, self._process.stderr
        self._streams = [cast("IO[bytes]", stream) for stream in streams]
        requests, answers, errors = (stream.fileno() for stream in self._streams)
        self.wire: Channel = Pipes(answers, requests)
        self._family: Family | None = None
        self._why = ""
        self._left = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._drain = threading.Thread(target=self._drain_until_closed, args=[errors], daemon=True)
        self._drain.start()

    def admit(self, module: str) -> None:
        """Wait until torch is loaded there, then start to look after it.

        Raises:
            OSError: it did not start; no student's code has run.
        """
        from grader.student.family import Family

        try:
            pid = int(self.wire.recv_bytes(100))
            self._family = Family(pid, self._process.pid, self._scratch)
            self.wire.send_bytes(module.encode())
        except (EOFError, OSError, ValueError) as error:
            self.leave(1)
            words = self.output.decode(errors="replace").strip().splitlines()
            raise OSError(words[-1] if words else "the second interpreter ended") from error
        self._watcher.start()

    def leave(self, grace: float) -> Status:
        """End the whole process tree, which has `grace` seconds to end by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self._left.set()
        if self._watcher.ident:
            self._watcher.join()
        closed = self._process.poll() is None and not self._why
        found = self._end_tree()
        self._drain.join(5)
        for stream in self._streams:
            stream.close()
        with contextlib.suppress(OSError), open(self._events, "rb") as file:
            self.events = file.read(limits.EVENTS_TAKEN)
        _remove(self._home)
        if closed:
            return Status("closed", left_behind=found)
        why, code = _ending(self._process.returncode)
        return Status(self._why or why, code)

    def _watch(self) -> None:
        """End the tree when it uses too much, or when its root has ended."""
        assert self._family is not None
        deadline = time.monotonic() + limits.WALL_SECONDS
        while not self._left.wait(_TICK):
            if self._process.poll() is not None:
                self._end_tree()
                return
            self._why = "wall" if time.monotonic() > deadline else self._family.excess()
            if self._why:
                self._end_tree()
                return

    def _end_tree(self) -> int:
        """Kill all; returns how many there were besides the interpreter."""
        found = self._family.end() if self._family else 0
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        return found

    def _drain_until_closed(self, errors: int) -> None:
        """Take what the student prints, so that it never blocks, up to a bound."""
        taken = 0
        with contextlib.suppress(OSError):
            while chunk := os.read(errors, 1 << 16):
                taken += len(chunk)
                self.output.extend(chunk[: max(0, limits.OUTPUT_KEPT - len(self.output))])
                if taken > limits.OUTPUT_TAKEN and not self.flooded:
                    self.flooded = True
                    self._process.kill()  # the watcher ends what else there is


def _ending(code: int) -> tuple[str, int]:
    """What an exit code says: why it ended, and a code as Linux has it."""
    if code >= _CRASHED:
        return "signal", -signal.SIGSEGV
    if code == -getattr(signal, "SIGXCPU", 0):
        return "cpu", code
    return ("signal" if code < 0 else "exit"), code


def _remove(folder: str) -> None:
    """Remove a folder whatever its permissions, even if Windows still holds a file."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        for place, folders, files in os.walk(folder):
            for name in folders + files:
                with contextlib.suppress(OSError):
                    os.chmod(os.path.join(place, name), 0o700)
        time.sleep(0.05)
