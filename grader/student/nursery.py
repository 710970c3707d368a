"""A process with torch loaded, from which one student's process after another is forked.

    judge ── nursery ── student (untrusted; process 1 of its PID namespace)

The nursery holds nothing that a student may not read and runs no student's code.
It looks after one student at a time: enforces the limits that the kernel
doesn't, ends the whole process tree and says how it ended.
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
from dataclasses import asdict
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.student import isolation, limits, server
from grader.student.ledger import Writer
from grader.student.limits import Status

assert not TYPE_CHECKING or sys.platform == "linux"  # imported elsewhere, but never used

if sys.platform != "win32":
    import fcntl
    import resource

#: A student that runs longer than this is looked at for its process tree.
_TICK = 0.05


def start(
    parent: socket.socket, child: socket.socket, student: server.Student | None = None
) -> int:
    """Fork a nursery that serves `child`; returns its process id.

    `student` is what it forks, if that was made ready here already.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        parent.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _run_and_exit(partial(serve, child, student))
    return pid


def trial(scratch: str) -> str | None:
    """Try out in a child what a student's process needs; the reason why it fails, or None."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        reason = ""
        try:
            isolation.own_pid_namespaces()
            isolation.enter_namespaces(scratch, [])
        except OSError as error:
            reason = str(error)
        os.write(writer, reason.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as answer:
        return answer.read() or None


def serve(requests: socket.socket, student: server.Student | None) -> None:
    """Look after students, where possible as the owner of PID namespaces, until hung up on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    student = student or server.Student()
    try:
        isolation.own_pid_namespaces()
    except OSError as error:
        isolation.die_with_parent()
        _look_after_all(requests, student, refused=str(error))
        return
    isolation.die_with_parent()
    pid = os.fork()
    if pid == 0:
        isolation.die_with_parent()
        _run_and_exit(lambda: _look_after_all(requests, student, refused=""))
    requests.close()
    os.waitpid(pid, 0)


def _look_after_all(requests: socket.socket, student: server.Student, refused: str) -> None:
    """Serve one request after another: JSON, with the student's end of each channel."""
    isolation.guard_memory(on=True)
    isolation.adopt_orphans()
    gc.freeze()
    present = isolation.address_space()
    while True:
        message, fds, _, _ = socket.recv_fds(requests, 65536, 5)
        if not message:
            return
        *theirs, control = fds
        request = json.loads(message)
        with socket.socket(fileno=control) as judge:
            if request["namespaces"] and refused:
                status = Status("refused", namespaces=refused)
                pid = 0
            else:
                fork = os.fork if refused else isolation.fork_into_pid_namespace
                pid = fork()
                if pid == 0:
                    _run_and_exit(partial(_serve, student, request, fds, present))
            for fd in theirs:
                os.close(fd)
            if pid:
                status = _look_after(pid, judge, alone=not refused)
            with contextlib.suppress(OSError):  # the judge may have ended meanwhile
                judge.sendall(_told(status))


def _run_and_exit(body: Callable[[], None]) -> None:
    """Run `body` in a fresh child and end it without the interpreter's teardown."""
    code = 1
    try:
        body()
        code = 0
    finally:
        os._exit(code)


def _look_after(pid: int, judge: socket.socket, *, alone: bool) -> Status:
    """See one student through, who is `alone` where it has a PID namespace of its own."""
    why = _watch(pid, judge)
    left_behind = len(_descendants()) - 1 if why == "closed" else 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)  # alone, this ends all that it started, too
    _, status, usage = os.wait4(pid, 0)
    if not alone:
        left_behind = max(left_behind, _end_orphans())
    code = os.waitstatus_to_exitcode(status)
    if why == "exit" and code < 0:
        cpu = usage.ru_utime + usage.ru_stime
        why = "cpu" if cpu >= limits.CPU_SECONDS - 0.1 else "signal"
    return Status(why, code, left_behind)


def _told(status: Status) -> bytes:
    return json.dumps(asdict(status)).encode()


def _serve(student: server.Student, request: dict[str, Any], fds: list[int], present: int) -> None:
    """Shut this process in, then serve: all that can be done before the fork is done by then."""
    wire, answers, output, events, control = fds
    isolation.guard_memory(on=False)
    scratch = str(request["scratch"])
    if request["namespaces"]:
        try:
            isolation.enter_namespaces(scratch, list(request["hide"]))
        except OSError as error:
            # Half in, half out: say so; the judge asks again without namespaces.
            os.write(control, _told(Status("refused", namespaces=str(error))))
            return
    isolation.die_with_parent()
    os.setsid()
    isolation.drop_privileges()
    os.chdir(scratch)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # Ours to keep are three channels; whatever else is open here is not for students.
    ours = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (wire, answers, events)]
    for i in range(3):
        os.dup2(ours[i], 10 + i)
    os.closerange(3, 10)
    os.closerange(13, 65536)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.nice(5)  # so that a flood of processes doesn't starve the nursery
    isolation.limit_resources(present)
    student.serve(Writer(Connection(10), 11), 12, request["module"])


def _watch(pid: int, control: socket.socket) -> str:
    """Wait until the student ends or must be ended; returns why."""
    deadline = time.monotonic() + limits.WALL_SECONDS
    process = os.pidfd_open(pid)
    with selectors.DefaultSelector() as selector, contextlib.ExitStack() as closing:
        closing.callback(os.close, process)
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
    if len(tree) > limits.PROCESSES:
        return "processes"
    inherited = _own_memory("self")  # each process shares this much with us
    taken = sum(max(0, _own_memory(pid) - inherited) for pid in tree)
    return "memory" if taken > 3 * limits.MEMORY_BYTES else None


def _own_memory(pid: int | str) -> int:
    """The memory in bytes that belongs to no file; 0 when the process is gone."""
    with contextlib.suppress(OSError):
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_bytes().split()
        return (int(resident) - int(shared)) * resource.getpagesize()
    return 0


def _descendants() -> list[int]:
    """The student and all that it started, as far as they are alive, as /proc numbers them."""
    alive: list[int] = []
    unseen = _children("thread-self")
    while unseen:
        pid = unseen.pop()
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
            if state not in b"ZX":
                alive.append(pid)
            for thread in os.listdir(f"/proc/{pid}/task"):
                unseen.extend(_children(f"{pid}/task/{thread}"))
    return alive


def _children(place: str) -> list[int]:
    try:
        return [int(pid) for pid in Path(f"/proc/{place}/children").read_bytes().split()]
    except OSError:
        return []


def _end_orphans() -> int:
    """Kill what the student left to us; returns how many there were."""
    ended: set[int] = set()
    while orphans := _descendants():
        for orphan in orphans:
            ended.add(orphan)
            with contextlib.suppress(ProcessLookupError):
                os.kill(orphan, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.001)
    return len(ended)
