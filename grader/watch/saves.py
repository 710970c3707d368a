"""Tells that a file may have been saved, deleted or put in place by a rename."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

import watchfiles

#: Milliseconds without a further event after which a save counts as done.
_SETTLED = 10


class Saves:
    """Events of one file; readable (see `fileno`) when there is one to `take`.

    Where the file system has no events, or too many watches are in use, nothing
    ever comes: so whoever waits should look at the file's `stamp` now and then.
    """

    def __init__(self, path: Path) -> None:
        # Folders are watched, not the file: editors replace it by a rename.
        places = {path.absolute(), path.resolve()}
        self._names = {place.name for place in places}
        self._folders = {place.parent for place in places}
        self._reader, self._writer = multiprocessing.Pipe(duplex=False)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(1)
        self._reader.close()
        self._writer.close()

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._reader.fileno()

    def take(self) -> None:
        """Forget all events so far."""
        while self._reader.poll():
            self._reader.recv_bytes()

    def _run(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            for _ in watchfiles.watch(
                *self._folders,
                watch_filter=lambda _, name: Path(name).name in self._names,
                step=_SETTLED,
                stop_event=self._stop,
                recursive=False,
                raise_interrupt=False,
            ):
                self._writer.send_bytes(b"")


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is saved, or None when there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
