"""Requests, tensors and facts to bytes and back: a JSON header, then the tensors as safetensors.

    length of the header (4 bytes) | header | safetensors

Neither side ever unpickles: `Connection.send_bytes` and `recv_bytes` only.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Protocol

import safetensors.numpy
import torch

#: The largest message that is read, in bytes.
MAX_MESSAGE = 64 << 20

_LENGTH = struct.Struct("<I")

#: What tensors may be sent; of others, facts tell what they are.
DTYPES = frozenset(
    [
        *(torch.float64, torch.float32, torch.float16, torch.bool),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
    ]
)


class Channel(Protocol):
    """What carries whole messages, such as a `multiprocessing.connection.Connection`."""

    def send_bytes(self, message: bytes, /) -> None:
        """Send one message."""

    def recv_bytes(self, largest: int, /) -> bytes:
        """Wait for one message; EOFError or OSError when none will come."""

    def flush(self) -> None:
        """Let the other side see all that was sent."""

    def close(self) -> None:
        """Hang up."""


class WireError(Exception):
    """A message that is late, malformed, too large or of another kind."""


def send(connection: Channel, facts: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Send JSON-ready facts and named tensors of `DTYPES` (any shape, strided, on the CPU)."""
    header = json.dumps(facts).encode()
    arrays = {name: t.detach().contiguous().numpy() for name, t in tensors.items()}
    blob = safetensors.numpy.save(arrays) if arrays else b""
    connection.send_bytes(b"".join([_LENGTH.pack(len(header)), header, blob]))


def receive(connection: Channel) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Receive what `send` sent.

    Raises:
        EOFError: the other side is gone.
        WireError: what came is no such message.
    """
    try:
        return _unpack(connection.recv_bytes(MAX_MESSAGE))
    except EOFError:
        raise
    except ConnectionError as error:
        raise EOFError from error
    except (
        *(OSError, ValueError, TypeError, LookupError, RecursionError, RuntimeError),
        *(struct.error, MemoryError, safetensors.SafetensorError),
    ) as error:
        raise WireError(str(error)) from error


#: An operation of `server.Student` with what it is given.
Request = tuple[str, dict[str, Any]]


def send_requests(connection: Channel, requests: list[Request]) -> None:
    """Send requests, all at once; tensors among what they are given go as tensors."""
    operations, tensors = [], {}
    for i, (operation, given) in enumerate(requests):
        sent = {name: v for name, v in given.items() if hasattr(v, "dtype")}
        tensors.update({f"{i}/{name}": t for name, t in sent.items()})
        rest = {name: v for name, v in given.items() if name not in sent}
        operations.append({"op": operation, "args": rest})
    send(connection, {"requests": operations}, tensors)


def receive_requests(
    connection: Channel,
) -> list[tuple[str, dict[str, Any], dict[str, torch.Tensor]]]:
    """Receive what `send_requests` sent: operations, what they are given, and its tensors.

    Raises:
        as `receive` does.
    """
    asked, tensors = receive(connection)
    given: list[dict[str, torch.Tensor]] = [{} for _ in asked["requests"]]
    for name, tensor in tensors.items():
        number, _, plain = name.partition("/")
        given[int(number)][plain] = tensor
    return [
        (request["op"], request["args"], its)
        for request, its in zip(asked["requests"], given, strict=True)
    ]


def _unpack(message: bytes) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    (length,) = _LENGTH.unpack_from(message)
    at = _LENGTH.size + length
    facts = json.loads(message[_LENGTH.size : at])
    if not isinstance(facts, dict):
        raise WireError("the facts are no object")
    arrays = safetensors.numpy.load(message[at:]) if message[at:] else {}
    return facts, {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
