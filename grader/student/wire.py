"""Tensors and facts to bytes and back: one JSON header, one safetensors blob.

Neither side ever unpickles: `Connection.send_bytes` and `recv_bytes` only.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import safetensors.torch

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import torch

#: The largest message that is read, in bytes.
MAX_MESSAGE = 64 << 20


class WireError(Exception):
    """A message that is late, malformed, too large or of another kind."""


def send(connection: Connection, header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Send a JSON-ready header and named tensors (any shape, strided, on the CPU)."""
    plain = {name: t.detach().contiguous() for name, t in tensors.items()}
    connection.send_bytes(json.dumps(header).encode())
    connection.send_bytes(safetensors.torch.save(plain))


def receive(connection: Connection) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Receive what `send` sent.

    Raises:
        EOFError: the other side is gone.
        WireError: what came is no such message.
    """
    try:
        header = json.loads(connection.recv_bytes(MAX_MESSAGE))
        tensors = safetensors.torch.load(connection.recv_bytes(MAX_MESSAGE))
    except EOFError:
        raise
    except ConnectionError as error:
        raise EOFError from error
    except (OSError, ValueError, RecursionError, safetensors.SafetensorError) as error:
        raise WireError(str(error)) from error
    if not isinstance(header, dict):
        raise WireError("the header is no object")
    return header, tensors
