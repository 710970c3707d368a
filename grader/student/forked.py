"""Students' processes on Linux: each is forked by a nursery, in namespaces where they work."""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from grader.records import Layer
from grader.student import limits, nursery
from grader.student.ledger import Reader
from grader.student.limits import Status
from grader.student.wire import Channel

assert not TYPE_CHECKING or sys.platform == "linux"  # imported elsewhere, but never used

#: Places of the kit that hold answers; hidden from a student where the system allows it.
_ROOT = Path(__file__).parents[2]
_HIDDEN = ("solution", "tests", "docs", "notebooks", "grader/exercises", ".git")


@dataclass
class Nursery:
    """A running nursery: our end of its socket, and its process if that is our child."""

    channel: socket.socket
    pid: int | None = None
    #: Whether namespaces work here; None until they are known not to. Then the reason why.
    refusal: str | None = None
    #: Where its students work; None for a folder that we make for each.
    scratch: str | None = None
    #: The layers around the nursery itself.
    layers: tuple[Layer, ...] = ()
    #: Whether no second student may come to where one has been.
    single_use: bool = False
    used: bool = False
    #: Whether a student has missed it already; its own socket may close a moment later.
    gone: bool = False

    @classmethod
    def fork(cls) -> Nursery:
        """Fork a nursery from this process, which has torch loaded and nothing to hide."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = nursery.start(ours, theirs)
        theirs.close()
        return cls(ours, pid)

    @property
    def ready(self) -> bool:
        """Whether the next student may come: it is alive, and clean."""
        ended = bool(select.select([self.channel], [], [], 0)[0])  # it never says a word
        return not ended and not self.gone and not (self.single_use and self.used)

    def prepare(self) -> None:
        """Do nothing: a fork takes a millisecond."""

    def place(self, module: str, *, namespaces: bool) -> ForkedPlace:
        """Let the nursery fork a process that serves `module`."""
        self.used = True
        return ForkedPlace(self, module, namespaces)

    def layers_around(self, refusal: str | None) -> tuple[Layer, ...]:
        """The layers around a student; `refusal` is why there are no namespaces."""
        words = (
            f"CPU {limits.CPU_SECONDS} s, wall {limits.WALL_SECONDS} s, "
            f"memory {limits.MEMORY_BYTES >> 30} GiB beyond torch, "
            f"output {limits.OUTPUT_TAKEN >> 20} MiB, files {limits.FILE_BYTES >> 20} MiB, "
            f"{limits.PROCESSES} processes"
        )
        names = ("process namespace", "no network", "read-only files")
        return (
            Layer("own process", on=True, why="ended with all that it starts"),
            Layer("limits", on=True, why=words),
            *(Layer(name, refusal is None, refusal or "Linux namespaces") for name in names),
            *self.layers,
        )

    def close(self) -> None:
        """End the nursery; its students end with it."""
        self.channel.close()  # it sees that, and goes
        if self.pid is None:
            return
        with contextlib.suppress(OSError):
            process = os.pidfd_open(self.pid)
            if not select.select([process], [], [], 1)[0]:
                os.kill(self.pid, signal.SIGKILL)
            os.close(process)
            os.waitpid(self.pid, 0)


@dataclass
class ForkedPlace:
    """A process that a nursery has forked; see `process.Place`."""

    nest: Nursery
    module: str
    namespaces: bool
    output: bytearray = field(default_factory=bytearray)
    events: bytes | bytearray = field(default_factory=bytearray)
    flooded: bool = False

    def __post_init__(self) -> None:
        self._scratch = self.nest.scratch or tempfile.mkdtemp(prefix="grader-")
        ours, theirs = socket.socketpair()
        self._output, output_theirs = os.pipe()
        self._events, events_theirs = os.pipe()
        self._control, control_theirs = socket.socketpair()
        request = {
            "scratch": self._scratch,
            "module": self.module,
            "namespaces": self.namespaces,
            # A nursery with a place of its own is where these are not.
            "hide": [] if self.nest.scratch else [str(_ROOT / name) for name in _HIDDEN],
        }
        answers = os.memfd_create("answers")
        fds = [theirs.fileno(), answers, output_theirs, events_theirs, control_theirs.fileno()]
        with contextlib.suppress(OSError):  # then it is lost, as `leave` finds
            socket.send_fds(self.nest.channel, [json.dumps(request).encode()], fds)
        for end in (theirs, control_theirs):
            end.close()
        os.close(output_theirs)
        os.close(events_theirs)
        self.wire: Channel = Reader(Connection(ours.detach()), answers)
        self._drain = threading.Thread(target=self._drain_until_closed, daemon=True)
        self._drain.start()

    def leave(self, grace: float) -> Status:
        """End the whole process tree, which has `grace` seconds to end by itself."""
        status = Status("lost")
        with contextlib.suppress(OSError, ValueError, TypeError):
            if not select.select([self._control], [], [], grace)[0]:
                self._control.shutdown(socket.SHUT_WR)
                self._control.settimeout(limits.WALL_SECONDS)
            status = Status(**json.loads(self._control.recv(4096)))
        self.nest.gone = self.nest.gone or status.why == "lost"
        self._drain.join(5)
        self.wire.close()
        self._control.close()
        if not self.nest.scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)
        return status

    def _drain_until_closed(self) -> None:
        """Take what the student prints, so that it never blocks, up to a bound."""
        taken = 0
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ, self.output)
            selector.register(self._events, selectors.EVENT_READ, self.events)
            while selector.get_map():
                for key, _ in selector.select():
                    chunk = os.read(key.fd, 1 << 16)
                    taken += len(chunk)
                    key.data.extend(chunk[: max(0, limits.OUTPUT_KEPT - len(key.data))])
                    if taken > limits.OUTPUT_TAKEN and not self.flooded:
                        self.flooded = True
                        self._control.shutdown(socket.SHUT_WR)
                    if not chunk:
                        selector.unregister(key.fd)
                        os.close(key.fd)
