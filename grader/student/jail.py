"""The first process in the jail: loads torch, then forks a nursery for whoever asks.

It is started with the number of its socket and whether it is shut in; see `bubblewrap`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import tempfile
from typing import TYPE_CHECKING

from grader.student.preload import load_torch

assert not TYPE_CHECKING or sys.platform == "linux"  # imported elsewhere, but never used


def main(requests: socket.socket, *, shut_in: bool) -> None:
    """Say whether namespaces work in here, then fork nurseries until the other side hangs up."""
    load_torch()
    # These load torch, so they come after the settings for it.
    from grader.student import heap, isolation, nursery, rehearsal, server

    isolation.die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    refusal = nursery.trial(tempfile.gettempdir())
    student = server.Student()
    if shut_in:  # away from a graphics card, too
        rehearsal.rehearse(student)
    heap.settle()
    requests.sendall(json.dumps({"refusal": refusal}).encode())
    while True:
        message, fds, _, _ = socket.recv_fds(requests, 64, 1)
        if not message:
            return
        with socket.socket(fileno=fds[0]) as judge:
            nursery.start(requests, judge, student)
        requests.sendall(b"there it is")


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), shut_in=sys.argv[2] == "shut-in")
    os._exit(0)
