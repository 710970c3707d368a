"""The trusted side of a student's process: start it, ask it, end it.

Answers are numbers and facts. Whatever the student's code does, asking either
gives an `Answer` or raises `StudentEnded` with the reason.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from grader.records import Layer
from grader.student import limits, wire
from grader.student.limits import Status
from grader.student.wire import Channel, Request

if TYPE_CHECKING:
    import torch


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


class Place(Protocol):
    """One student's process, its channels, and who looks after it.

    ``events`` is what `trace.Events` has written, once the place was left;
    ``flooded`` says whether the process was ended because it printed too much.
    """

    wire: Channel
    output: bytearray
    events: bytes | bytearray
    flooded: bool

    def leave(self, grace: float) -> Status:
        """End the whole process tree, which has `grace` seconds to end by itself."""


class Nest(Protocol):
    """Where students' processes come from."""

    #: The process that it is, if that is our child.
    pid: int | None
    #: Whether namespaces work here; None until they are known not to. Then the reason why.
    refusal: str | None

    @property
    def ready(self) -> bool:
        """Whether the next student may come."""

    def prepare(self) -> None:
        """Do ahead of time what the next student would wait for."""

    def place(self, module: str, *, namespaces: bool) -> Place:
        """Make a process that serves `module`."""

    def layers_around(self, refusal: str | None) -> tuple[Layer, ...]:
        """The layers around a student; `refusal` is why there are no namespaces."""

    def close(self) -> None:
        """End all that is left."""


@dataclass
class Student:
    """A student's process with one file loaded (or not: see the answer of `load`)."""

    nest: Nest
    module: str
    namespaces: bool = True
    ended: StudentEnded | None = None
    output: bytearray = field(default_factory=bytearray)
    events: list[tuple[str, str]] = field(default_factory=list)
    left_behind: int = 0

    def __post_init__(self) -> None:
        self._closed = False
        namespaces = self.namespaces and self.nest.refusal is None
        self._place = self.nest.place(self.module, namespaces=namespaces)

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
            wire.send_requests(self._place.wire, requests)
        for operation, given in requests:
            try:
                facts, tensors = wire.receive(self._place.wire)
            except wire.WireError:
                self.close()
                self.ended = StudentEnded("protocol", operation)
                raise self.ended from None
            except (EOFError, OSError):
                yield self._no_answer(operation, given)
            else:
                yield Answer(tensors, facts)

    def _no_answer(self, operation: str, given: dict[str, Any]) -> Answer:
        """Raise for what ended the process, unless the system refused to start it so."""
        status = self.close(grace=1)
        if status.why == "refused":
            self.nest.refusal = status.namespaces
            self.__init__(self.nest, self.module, namespaces=False)  # type: ignore[misc]
            return self.ask(operation, **given)
        why = "output" if self._place.flooded else status.why
        self.ended = StudentEnded(why, operation, status.code)
        raise self.ended

    def close(self, grace: float = 0) -> Status:
        """End the whole process tree, once; returns how it ended. Safe to call twice.

        A process that hung up gets `grace` seconds to end by itself, so that
        the status says how.
        """
        if not self._closed:
            self._closed = True
            self._status = self._place.leave(grace)
            self.left_behind = self._status.left_behind
            self.output = self._place.output
            for line in self._place.events[: limits.EVENTS_TAKEN].splitlines():
                with contextlib.suppress(ValueError, TypeError):
                    event, detail = json.loads(line)
                    self.events.append((str(event)[:80], str(detail)[:400]))
        return self._status

    @property
    def lost(self) -> bool:
        """Whether its nursery was ended while it was under way."""
        return self.ended is not None and self.ended.why == "lost"

    def layers(self) -> tuple[Layer, ...]:
        """The layers of isolation that were on for this student."""
        return self.nest.layers_around(self.nest.refusal if self.namespaces else "not asked for")
