"""Whole messages over two pipes, as `wire.Channel` wants them, on any system."""

from __future__ import annotations

import contextlib
import os
import struct

_LENGTH = struct.Struct("<I")


class Pipes:
    """A channel that reads from one file descriptor and writes to another."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader, self._writer = reader, writer

    def send_bytes(self, message: bytes, /) -> None:
        """Send one message."""
        rest = memoryview(_LENGTH.pack(len(message)) + message)
        while rest:
            rest = rest[os.write(self._writer, rest) :]

    def recv_bytes(self, largest: int, /) -> bytes:
        """Wait for one message; EOFError or OSError when none will come."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if length > largest:
            raise OSError("the message is too large")
        return self._read(length)

    def flush(self) -> None:
        """Do nothing: each message is sent at once."""

    def _read(self, length: int) -> bytes:
        message = bytearray()
        while len(message) < length:
            chunk = os.read(self._reader, min(length - len(message), 1 << 20))
            if not chunk:
                raise EOFError
            message += chunk
        return bytes(message)

    def close(self) -> None:
        """Hang up."""
        for fd in (self._reader, self._writer):
            with contextlib.suppress(OSError):
                os.close(fd)
