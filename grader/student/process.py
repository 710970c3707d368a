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


class StudentEnded(Exception):  # noqa: N818 - an ending, not always an error
    """The student's process is gone or has to go.

    ``why`` is one of "exit", "signal", "cpu", "wall", "memory", "output",
    "processes", "protocol" and "lost" (its warden was ended from within);
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
    """A running nursery; `channel` is our end of its socket, `pid` its process."""

    channel: socket.socket
    pid: int
    #: Whether namespaces work here; None until the first try. Then the reason why not.
    refusal: str | None = None

    @classmethod
    def fork(cls) -> Nursery:
        """Fork a nursery from this process, which has torch loaded and nothing to hide."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = nursery.start(ours, theirs)
        theirs.close()
        return cls(ours, pid)

    def close(self) -> None:
        """End the nursery; its students end with it."""
        self.channel.close()
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
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
        self._scratch = tempfile.mkdtemp(prefix="grader-")
        Path(self._scratch).chmod(0o700)
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
            "hide": [str(_ROOT / name) for name in _HIDDEN],
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
        if self.ended:
            raise self.ended
        tensors = {k: v for k, v in given.items() if hasattr(v, "dtype")}
        arguments = {k: v for k, v in given.items() if k not in tensors}
        try:
            wire.send(self._channels.wire, {"op": operation, "args": arguments}, tensors)
            facts, answers = wire.receive(self._channels.wire)
        except wire.WireError:
            self.close()
            self.ended = StudentEnded("protocol", operation)
        except (EOFError, OSError):
            status = self.close(grace=1)
            if status.why == "refused":
                return self._again_without_namespaces(status, operation, given)
            why = "output" if self._flood else status.why
            self.ended = StudentEnded(why, operation, status.code)
        else:
            return Answer(answers, facts)
        raise self.ended

    def _again_without_namespaces(
        self, status: nursery.Status, operation: str, given: dict[str, Any]
    ) -> Answer:
        self.nest.refusal = status.namespaces
        self.__init__(self.nest, self.module, namespaces=False)  # type: ignore[misc]
        return self.ask(operation, **given)

    def close(self, grace: float = 0) -> nursery.Status:
        """End the whole process tree, once; returns how it ended. Safe to call twice.

        A process that hung up gets `grace` seconds to end by itself, so that
        the status says how.
        """
        if self._scratch:
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
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch = ""
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
        )
