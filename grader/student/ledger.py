"""A channel whose answers are written into a file, and announced once for many requests.

If each answer were a message, the judge would wake up for each, on the core where
the student's code goes on. A file keeps what was answered before a process ended.
"""

from __future__ import annotations

import os
import struct
from multiprocessing.connection import Connection

_LENGTH = struct.Struct("<I")


class Writer:
    """The student's end; see `wire.Channel`."""

    def __init__(self, connection: Connection, file: int) -> None:
        self._connection, self._file, self._end = connection, file, 0

    def recv_bytes(self, largest: int, /) -> bytes:
        """Wait for one message; by then all that was written before has been read."""
        self._end = 0
        return self._connection.recv_bytes(largest)

    def send_bytes(self, message: bytes, /) -> None:
        """Write one message down."""
        rest = memoryview(_LENGTH.pack(len(message)) + message)
        while rest:
            written = os.pwrite(self._file, rest, self._end)
            self._end, rest = self._end + written, rest[written:]

    def flush(self) -> None:
        """Announce what was written."""
        self._connection.send_bytes(b"")

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


class Reader:
    """The judge's end; see `wire.Channel`."""

    def __init__(self, connection: Connection, file: int) -> None:
        self._connection, self._file = connection, file
        self._at, self._announced, self._ended = 0, False, False

    def send_bytes(self, message: bytes, /) -> None:
        """Send one message, after all answers to the one before were read."""
        self._at, self._announced = 0, False
        os.ftruncate(self._file, 0)
        self._connection.send_bytes(message)

    def recv_bytes(self, largest: int, /) -> bytes:
        """Wait for one message; EOFError or OSError when none will come."""
        if not self._announced:
            try:
                self._connection.recv_bytes(0)
            except (EOFError, ConnectionError):
                self._ended = True  # what it has written by then counts
            self._announced = True
        message = self._read(largest)
        if message is None:
            raise EOFError if self._ended else OSError("an answer is missing")
        return message

    def _read(self, largest: int) -> bytes | None:
        head = os.pread(self._file, _LENGTH.size, self._at)
        if len(head) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack(head)
        if length > largest:
            raise OSError("the message is too large")
        message = os.pread(self._file, length, self._at + _LENGTH.size)
        self._at += _LENGTH.size + length
        return message if len(message) == length else None

    def flush(self) -> None:
        """Do nothing: each message is sent at once."""

    def close(self) -> None:
        """Hang up."""
        self._connection.close()
        os.close(self._file)
