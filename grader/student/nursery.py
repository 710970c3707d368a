"""A process with torch loaded, from which each student's process is forked.

    judge ── nursery ── warden ── student (untrusted; process 1 of its namespace)

The nursery holds nothing that a student may not read and never runs a backward.
A warden looks after one student: it puts the layers on, enforces the limits
that the kernel doesn't, ends the whole process tree and says how it ended.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import psutil

from grader.student import isolation, server

#: A student that runs longer than this is looked at for its process tree.
_TICK = 0.05


@dataclass(frozen=True)
class Status:
    """How a student's process ended, as its warden saw it.

    ``why`` is "closed" (we ended it), "exit", "signal", "cpu", "wall", "memory" or "processes".
    """

    why: str
    code: int = 0
    left_behind: int = 0
    namespaces: str = ""


def start(parent: socket.socket, child: socket.socket) -> int:
    """Fork a nursery that serves `child`; returns its process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        parent.close()
        _run_and_exit(lambda: serve(child))
    return pid


def serve(requests: socket.socket) -> None:
    """Fork a warden for each request: JSON, with the four ends of a student's channels."""
    isolation.die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    while True:
        message, fds, _, _ = socket.recv_fds(requests, 65536, 4)
        if not message:
            return
        if os.fork() == 0:
            requests.close()
            _run_and_exit(partial(_warden, json.loads(message), *fds))
        for fd in fds:
            os.close(fd)


def _run_and_exit(body: Callable[[], None]) -> None:
    """Run `body` in a fresh child and end it without the interpreter's teardown."""
    code = 1
    try:
        body()
        code = 0
    finally:
        os._exit(code)


def _warden(request: dict[str, Any], wire: int, output: int, events: int, control: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    isolation.die_with_parent()
    os.setsid()
    control_socket = socket.socket(fileno=control)
    scratch = str(request["scratch"])
    refused = "off: not asked for"
    if request["namespaces"]:
        try:
            isolation.enter_namespaces(scratch, list(request["hide"]))
            refused = ""
        except OSError as error:
            # Half in, half out: say so; the judge asks again without namespaces.
            control_socket.sendall(
                json.dumps(asdict(Status("refused", namespaces=str(error)))).encode()
            )
            return
    isolation.adopt_orphans()
    pid = os.fork()
    if pid == 0:
        _run_and_exit(lambda: _student(request, wire, output, events, inside=not refused))
    for fd in (wire, output, events):
        os.close(fd)
    why = _watch(pid, control_socket)
    left_behind = len(_descendants()) - 1 if why == "closed" else 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)  # in a namespace of its own, this ends all of them
    _, status, usage = os.wait4(pid, 0)
    left_behind = max(left_behind, _end_orphans())
    code = os.waitstatus_to_exitcode(status)
    if why == "exit" and code < 0:
        cpu = usage.ru_utime + usage.ru_stime
        why = "cpu" if cpu >= isolation.CPU_SECONDS - 0.1 else "signal"
    control_socket.sendall(json.dumps(asdict(Status(why, code, left_behind, refused))).encode())


def _student(request: dict[str, Any], wire: int, output: int, events: int, *, inside: bool) -> None:
    if inside:
        isolation.seal_namespaces()
    isolation.die_with_parent()
    with contextlib.suppress(OSError):
        os.setsid()
    isolation.no_new_privileges()
    os.chdir(request["scratch"])
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # Ours to keep are two channels; whatever else is open here is not for students.
    wire, events = _move(wire, 10), _move(events, 11)
    os.closerange(3, 10)
    os.closerange(12, 65536)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(
            number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        )
    os.nice(5)  # so that a flood of processes doesn't starve the warden
    isolation.limit_resources()
    server.serve(Connection(wire), events, request["module"])


def _move(fd: int, to: int) -> int:
    os.dup2(fd, to)
    return to


def _watch(pid: int, control: socket.socket) -> str:
    """Wait until the student ends or must be ended; returns why."""
    deadline = time.monotonic() + isolation.WALL_SECONDS
    with selectors.DefaultSelector() as selector:
        process = os.pidfd_open(pid)
        selector.register(process, selectors.EVENT_READ, "exit")
        selector.register(control, selectors.EVENT_READ, "closed")
        while True:
            ready = selector.select(_TICK)
            if ready:
                return "exit" if any(key.data == "exit" for key, _ in ready) else "closed"
            if time.monotonic() > deadline:
                return "wall"
            why = _over_the_tree_limits()
            if why:
                return why


def _over_the_tree_limits() -> str | None:
    tree = _descendants()
    if len(tree) > isolation.PROCESSES:
        return "processes"
    memory = 0
    for process in tree:
        with contextlib.suppress(psutil.Error):
            memory += process.memory_full_info().uss
    return "memory" if memory > 3 * isolation.MEMORY_BYTES else None


def _descendants() -> list[psutil.Process]:
    """The student and all that it started, as far as they are alive."""
    alive = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                alive.append(process)
    return alive


def _end_orphans() -> int:
    """Kill what the student left to us; returns how many there were."""
    ended: set[int] = set()
    while orphans := _descendants():
        for orphan in orphans:
            ended.add(orphan.pid)
            with contextlib.suppress(psutil.Error):
                orphan.kill()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.001)
    return len(ended)
