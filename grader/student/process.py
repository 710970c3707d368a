"""The trusted side of a student's process: start it, ask it, end it.

Answers are numbers and facts. Whatever the student's code does, asking either
gives an `Answer` or raises `StudentEnded` with the reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.records import Layer
from grader.student import isolation, nursery, wire

if TYPE_CHECKING:
    import torch

OUTPUT_KEPT = 1 << 20
OUTPUT_TAKEN = 64 << 20
_EVENTS_TAKEN = 1 << 20

#: Places of the kit that hold answers; hidden from a student where the system allows it.
_ROOT = Path(__file__).parents[2]
_HIDDEN = ("solution", "tests", "docs", "notebooks", "grader/exercises", ".git")


#: An operation of `server.Student` with what it is given.
Request = tuple[str, dict[str, Any]]


class StudentEnded(Exception):  # noqa: N818 - an ending, not always an error
    """The student's process is gone or has to go.

    ``why`` is one of "exit", "signal", "cpu", "wall", "memory", "output",
    "processes", "protocol" and "lost" (its nursery was ended);
    ``stage`` the operation that was under way; ``code`` its exit code.
    """

    def __init__(self, why: str, stage: str, code: int = 0) -> None:
        super().__init__(f"{why} in {stage} ({code})")
        self.why, self.stage, self.code = why, stage, code


@dataclass(frozen=True)
class Answer:
    """What came back from one request."""

    tensors: dict[str, torch.Tensor]
    facts: dict[str, Any]

    @property
    def error(self) -> dict[str, Any] | None:
        """The exception that the student's code raised, as facts, or None."""
        error = self.facts.get("error")
        return error if isinstance(error, dict) else None


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
    def fork(cls, layers: tuple[Layer, ...] = ()) -> Nursery:
        """Fork a nursery from this process, which has torch loaded and nothing to hide."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = nursery.start(ours, theirs)
        theirs.close()
        return cls(ours, pid, layers=layers)

    @property
    def ready(self) -> bool:
        """Whether the next student may come: it is alive, and clean."""
        ended = bool(select.select([self.channel], [], [], 0)[0])  # it never says a word
        return not ended and not self.gone and not (self.single_use and self.used)

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
class _Channels:
    """Our ends of what connects us to one student."""

    wire: Connection
    output: int
    events: int
    control: socket.socket


@dataclass
class Student:
    """A student's process with one file loaded (or not: see the answer of `load`)."""

    nest: Nursery
    module: str
    namespaces: bool = True
    ended: StudentEnded | None = None
    output: bytearray = field(default_factory=bytearray)
    events: list[tuple[str, str]] = field(default_factory=list)
    left_behind: int = 0
    _flood: bool = False

    def __post_init__(self) -> None:
        self.nest.used = True
        self._closed = False
        self._scratch = self.nest.scratch or tempfile.mkdtemp(prefix="grader-")
        if self.namespaces and self.nest.refusal is None:
            self._open(namespaces=True)
        else:
            self._open(namespaces=False)

    def _open(self, *, namespaces: bool) -> None:
        ours, theirs = socket.socketpair()
        output, output_theirs = os.pipe()
        events, events_theirs = os.pipe()
        control, control_theirs = socket.socketpair()
        request = {
            "scratch": self._scratch,
            "module": self.module,
            "namespaces": namespaces,
            # A nursery with a place of its own is where these are not.
            "hide": [] if self.nest.scratch else [str(_ROOT / name) for name in _HIDDEN],
        }
        fds = [theirs.fileno(), output_theirs, events_theirs, control_theirs.fileno()]
        socket.send_fds(self.nest.channel, [json.dumps(request).encode()], fds)
        for end in (theirs, control_theirs):
            end.close()
        os.close(output_theirs)
        os.close(events_theirs)
        self._channels = _Channels(Connection(ours.detach()), output, events, control)
        self._drain = threading.Thread(target=self._drain_until_closed, daemon=True)
        self._drain.start()

    def ask(self, operation: str, /, **given: Any) -> Answer:
        """Run one operation of `server.Student`; tensors are sent as tensors.

        Raises:
            StudentEnded: there is no answer, now or from now on.
        """
        return next(self.ask_all([(operation, given)]))

    def ask_all(self, requests: list[Request]) -> Iterator[Answer]:
        """Send several requests at once; yield the answers as they come, in order.

        Raises:
            StudentEnded: as for `ask`, in place of the first answer that is missing.
        """
        if self.ended:
            raise self.ended
        with contextlib.suppress(OSError):  # then no answer comes, and the reason why
            self._send(requests)
        for operation, given in requests:
            try:
                facts, tensors = wire.receive(self._channels.wire)
            except wire.WireError:
                self.close()
                self.ended = StudentEnded("protocol", operation)
                raise self.ended from None
            except (EOFError, OSError):
                yield self._no_answer(operation, given)
            else:
                yield Answer(tensors, facts)

    def _send(self, requests: list[Request]) -> None:
        operations, tensors = [], {}
        for i, (operation, given) in enumerate(requests):
            sent = {name: v for name, v in given.items() if hasattr(v, "dtype")}
            tensors.update({f"{i}/{name}": t for name, t in sent.items()})
            rest = {name: v for name, v in given.items() if name not in sent}
            operations.append({"op": operation, "args": rest})
        wire.send(self._channels.wire, {"requests": operations}, tensors)

    def _no_answer(self, operation: str, given: dict[str, Any]) -> Answer:
        """Raise for what ended the process, unless the system refused to start it so."""
        status = self.close(grace=1)
        if status.why == "refused":
            self.nest.refusal = status.namespaces
            self.__init__(self.nest, self.module, namespaces=False)  # type: ignore[misc]
            return self.ask(operation, **given)
        self.nest.gone = self.nest.gone or status.why == "lost"
        why = "output" if self._flood else status.why
        self.ended = StudentEnded(why, operation, status.code)
        raise self.ended

    def close(self, grace: float = 0) -> nursery.Status:
        """End the whole process tree, once; returns how it ended. Safe to call twice.

        A process that hung up gets `grace` seconds to end by itself, so that
        the status says how.
        """
        if not self._closed:
            self._closed = True
            self._status = self._finish(grace)
        return self._status

    def _finish(self, grace: float) -> nursery.Status:
        control = self._channels.control
        status = nursery.Status("lost")
        with contextlib.suppress(OSError, ValueError, TypeError):
            if not select.select([control], [], [], grace)[0]:
                control.shutdown(socket.SHUT_WR)
                control.settimeout(isolation.WALL_SECONDS)
            status = nursery.Status(**json.loads(control.recv(4096)))
        self._drain.join(5)
        self._channels.wire.close()
        control.close()
        if not self.nest.scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self.left_behind = status.left_behind
        return status

    def _drain_until_closed(self) -> None:
        """Take what the student prints, so that it never blocks, up to a bound."""
        raw_events = bytearray()
        taken = 0
        with selectors.DefaultSelector() as selector:
            selector.register(self._channels.output, selectors.EVENT_READ, self.output)
            selector.register(self._channels.events, selectors.EVENT_READ, raw_events)
            while selector.get_map():
                for key, _ in selector.select():
                    chunk = os.read(key.fd, 1 << 16)
                    taken += len(chunk)
                    key.data.extend(chunk[: max(0, OUTPUT_KEPT - len(key.data))])
                    if taken > OUTPUT_TAKEN and not self._flood:
                        self._flood = True
                        self._channels.control.shutdown(socket.SHUT_WR)
                    if not chunk:
                        selector.unregister(key.fd)
                        os.close(key.fd)
        for line in raw_events[:_EVENTS_TAKEN].splitlines():
            with contextlib.suppress(ValueError, TypeError):
                event, detail = json.loads(line)
                self.events.append((str(event)[:80], str(detail)[:400]))

    @property
    def lost(self) -> bool:
        """Whether its nursery was ended while it was under way."""
        return self.ended is not None and self.ended.why == "lost"

    def layers(self) -> tuple[Layer, ...]:
        """The layers of isolation that were on for this student."""
        names = ("process namespace", "no network", "read-only files")
        refusal = self.nest.refusal if self.namespaces else "not asked for"
        limits = (
            f"CPU {isolation.CPU_SECONDS} s, wall {isolation.WALL_SECONDS} s, "
            f"memory {isolation.MEMORY_BYTES >> 30} GiB beyond torch, "
            f"output {OUTPUT_TAKEN >> 20} MiB, files {isolation.FILE_BYTES >> 20} MiB, "
            f"{isolation.PROCESSES} processes"
        )
        return (
            Layer("own process", on=True, why="ended with all that it starts"),
            Layer("limits", on=True, why=limits),
            *(Layer(name, refusal is None, refusal or "Linux namespaces") for name in names),
            *self.nest.layers,
        )
