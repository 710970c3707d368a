"""Tensors and facts to bytes and back: a JSON header, then the tensors' bytes.

    length of the header (4 bytes) | {"facts": ..., "tensors": [[name, dtype, shape], ...]} | bytes

Neither side ever unpickles: `Connection.send_bytes` and `recv_bytes` only. A class
of a thousand asks some 60,000 questions, so a message takes microseconds.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any, Protocol

import torch

#: The largest message that is read, in bytes.
MAX_MESSAGE = 64 << 20

_LENGTH = struct.Struct("<I")
_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.bool),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
        *(torch.complex128, torch.complex64),
    )
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class Channel(Protocol):
    """What carries whole messages, such as a `multiprocessing.connection.Connection`."""

    def send_bytes(self, message: bytes, /) -> None:
        """Send one message."""

    def recv_bytes(self, largest: int, /) -> bytes:
        """Wait for one message; EOFError or OSError when none will come."""

    def close(self) -> None:
        """Hang up."""


class WireError(Exception):
    """A message that is late, malformed, too large or of another kind."""


def send(connection: Channel, facts: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Send JSON-ready facts and named tensors (any shape, strided, on the CPU)."""
    about = [[name, _NAMES[t.dtype], list(t.shape)] for name, t in tensors.items()]
    header = json.dumps({"facts": facts, "tensors": about}).encode()
    blobs = map(_bytes, tensors.values())
    connection.send_bytes(b"".join([_LENGTH.pack(len(header)), header, *blobs]))


def _bytes(t: torch.Tensor) -> bytes:
    if not t.numel():
        return b""
    flat = t.detach().resolve_conj().resolve_neg().reshape(-1)
    return bytes(flat.contiguous().view(torch.uint8).numpy().tobytes())


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
        *(struct.error, MemoryError),
    ) as error:
        raise WireError(str(error)) from error


def _unpack(message: bytes) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    (length,) = _LENGTH.unpack_from(message)
    at = _LENGTH.size + length
    header = json.loads(message[_LENGTH.size : at])
    facts = header["facts"]
    if not isinstance(facts, dict):
        raise WireError("the facts are no object")
    tensors = {}
    for name, dtype_name, shape in header["tensors"]:
        dtype = _DTYPES[dtype_name]
        if not isinstance(name, str) or not all(type(n) is int and n >= 0 for n in shape):
            raise WireError("a tensor has no name or no shape")
        size = math.prod(shape) * dtype.itemsize
        blob = bytearray(message[at : at + size])
        flat = torch.frombuffer(blob, dtype=dtype) if blob else torch.empty(0, dtype=dtype)
        tensors[name] = flat.reshape(shape)  # which refuses what is cut short
        at += size
    return facts, tensors
