"""The process from which a crew's judges are forked: it loads torch once for all of them.

    crew ── house ── judges
                └── jail ── nurseries ── students

It is started with the number of its socket and, where the jail is open, the reason why.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from grader.student.bubblewrap import Jail, JailError
from grader.student.preload import load_torch

assert not TYPE_CHECKING or sys.platform == "linux"  # imported elsewhere, but never used


def main(requests: socket.socket, trusted: str) -> None:
    """Say that it is ready (or why not), then fork a judge for each socket that arrives."""
    jail = Jail(trusted)
    try:
        jail.start()  # it loads torch while we do
        load_torch()
        from grader import checks, diagnosis, judge  # noqa: F401 - for all judges at once

        jail.wait()
    except (JailError, OSError) as error:
        requests.sendall(str(error).encode())
        return
    requests.sendall(b"ready")
    gc.enable()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, fds, _, _ = socket.recv_fds(requests, 64, 1)
        if not message:
            return
        if os.fork() == 0:
            requests.close()
            _judge(Connection(fds[0]), jail)
        os.close(fds[0])


def _judge(connection: Connection, jail: Jail) -> None:
    from grader import judge
    from grader.student import isolation

    isolation.die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    judge.serve(connection, jail.nursery)


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # the crew is gone, and so are we
        main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
    os._exit(0)
