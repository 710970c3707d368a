"""The first thing that a second interpreter runs: load torch, say so, serve one student's file.

    python -P -m grader.student.launch EVENTS

It talks over its standard input and output, which student code never sees; what
that prints goes where errors go. Its working directory is the scratch folder,
in the folder that holds the file EVENTS.
"""

from __future__ import annotations

import os
import queue
import shutil
import sys
import threading

from grader.student import limits
from grader.student.pipes import Pipes
from grader.student.preload import load_torch

_MAX_MESSAGE = 64 << 20  # as in `wire`, which loads torch


class Inbox:
    """The judge's channel, read ahead by a thread.

    So a judge that is gone is noticed at once, and this process goes, too,
    whatever the student's code is doing.
    """

    def __init__(self, pipes: Pipes, home: str) -> None:
        self._pipes, self._home = pipes, home
        self._messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.send_bytes, self.flush, self.close = pipes.send_bytes, pipes.flush, pipes.close
        threading.Thread(target=self._read, daemon=True).start()

    def recv_bytes(self, largest: int, /) -> bytes:
        """Wait for one message."""
        return self._messages.get()

    def _read(self) -> None:
        try:
            while True:
                self._messages.put(self._pipes.recv_bytes(_MAX_MESSAGE))
        finally:
            leave(self._home)


def leave(home: str) -> None:
    """End this process; where the judge can't clean up any more, do that, too."""
    os.chdir(os.path.dirname(home))
    shutil.rmtree(home, ignore_errors=True)
    os._exit(0)


def main(events: str) -> None:
    """Serve one file; see above."""
    home = os.path.dirname(events)
    pipes = Pipes(os.dup(0), os.dup(1))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    inbox = Inbox(pipes, home)
    load_torch()
    from grader.student import server

    events_fd = os.open(events, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    inbox.send_bytes(str(os.getpid()).encode())
    module = inbox.recv_bytes(_MAX_MESSAGE).decode()
    limit_resources()
    try:
        server.Student().serve(inbox, events_fd, module)
    finally:
        leave(home)


def limit_resources() -> None:
    """Bound what this process may use, where the system can do that."""
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = int(used.ru_utime + used.ru_stime) + limits.CPU_SECONDS + 2  # the judge looks first
    for what, bound in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, limits.FILE_BYTES),
        (resource.RLIMIT_NOFILE, limits.FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        if hard == resource.RLIM_INFINITY or bound < hard:
            resource.setrlimit(what, (bound, bound))


if __name__ == "__main__":
    main(sys.argv[1])
