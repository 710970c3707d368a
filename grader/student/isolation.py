"""The layers around a student's process that the system offers without help.

Linux namespaces hide everything that the code has no business with: other
processes, the network, the places in `hide`; the file system becomes read-only
but for a scratch folder. Limits bound what one process may use.
Sources: user_namespaces(7), pid_namespaces(7), mount_setattr(2), getrlimit(2).
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grader.student.limits import CPU_SECONDS, FILE_BYTES, FILES, MEMORY_BYTES

assert not TYPE_CHECKING or sys.platform == "linux"  # imported elsewhere, but never used

if sys.platform != "win32":
    import resource

SCRATCH_BYTES = 64 << 20

_NEWNS, _NEWIPC, _NEWUTS = 0x00020000, 0x08000000, 0x04000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 1 << 18
_SYS_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _ATTR_RDONLY = 442, -100, 0x8000, 1
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_CAPABILITY_VERSION_3 = 0x20080522
_SIGKILL = 9
_TEMPORARY = "/tmp"  # noqa: S108 - as _SHARED_MEMORY
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - it is replaced, not used


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _own_user_namespace(flags: int) -> None:
    """Unshare `flags` and a user namespace in which we keep our user id."""
    user, group = os.geteuid(), os.getegid()
    _check(_libc().unshare(_NEWUSER | flags), "unshare")
    for name, words in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        # In a process just forked, each line of Python costs; a file object costs many.
        file = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(file, words.encode())
        os.close(file)


def _tmpfs(place: str, size: int) -> None:
    options = f"size={size},mode=0777".encode()
    _check(_libc().mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, options), f"tmpfs on {place}")


def _own_temporary() -> None:
    """A /tmp to write to, as code may everywhere; of the old one only Python's own places stay."""
    places = {p for p in (sys.prefix, sys.base_prefix, *sys.path) if p.startswith(_TEMPORARY + "/")}
    kept = [(place, os.open(place, os.O_PATH)) for place in sorted(places) if os.path.isdir(place)]
    _tmpfs(_TEMPORARY, SCRATCH_BYTES)
    for place, fd in kept:
        os.makedirs(place, exist_ok=True)
        source = f"/proc/self/fd/{fd}".encode()
        result = _libc().mount(source, os.fsencode(place), None, _MS_BIND | _MS_REC, None)
        _check(result, f"bind {place}")
        os.close(fd)


def _set_read_only(place: str, *, on: bool) -> None:
    """Make all mounts from `place` on private and read-only, or `place` alone writable."""
    change = struct.pack("QQQQ", _ATTR_RDONLY * on, _ATTR_RDONLY * (not on), _MS_PRIVATE, 0)
    flags = _AT_RECURSIVE if on else 0
    name = os.fsencode(place)
    result = _libc().syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, name, flags, change, len(change))
    _check(result, "read-only mounts")


def own_pid_namespaces() -> None:
    """Become the owner of PID namespaces; this process's next child is process 1 of the first.

    Raises:
        OSError: the system refuses, and nothing has happened.
    """
    _own_user_namespace(_NEWPID)


def fork_into_pid_namespace() -> int:
    """Like `os.fork`; the child is process 1 of a fresh PID namespace, which ends with it."""
    here = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc().unshare(_NEWPID), "unshare")
        pid = os.fork()
        if pid:
            _check(_libc().setns(here, _NEWPID), "setns")
    finally:
        os.close(here)
    return pid


def enter_namespaces(scratch: str, hide: list[str]) -> None:
    """Give this process (one thread) its own view of the system, which it can't undo.

    Raises:
        OSError: the system refuses; then part of it may have happened, and the
            process should not go on to run a student's code.
    """
    libc = _libc()
    _check(libc.unshare(_NEWNS | _NEWNET | _NEWIPC | _NEWUTS), "unshare")
    _set_read_only("/", on=True)
    _own_temporary()
    for place in hide:
        if os.path.isdir(place):
            _tmpfs(place, 4096)
    os.makedirs(scratch, exist_ok=True)
    _tmpfs(scratch, SCRATCH_BYTES)
    if os.path.isdir(_SHARED_MEMORY):
        _tmpfs(_SHARED_MEMORY, SCRATCH_BYTES)
    if libc.mount(b"proc", b"/proc", b"proc", 0, None) != 0:
        # A container may forbid a new /proc; the old one shows names, not more.
        _set_read_only("/proc", on=False)
    # Mounts that come from a more privileged namespace are locked here.
    _own_user_namespace(_NEWNS)


def address_space() -> int:
    """The size in bytes of what this process has mapped, used or not."""
    return int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()


def limit_resources(present: int) -> None:
    """Bound what this process may use beyond the `address_space` that it was forked with.

    Beyond it the kernel ends it or refuses.
    """
    for what, soft, hard in (
        (resource.RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS + 1),
        (resource.RLIMIT_AS, present + MEMORY_BYTES, present + MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, FILE_BYTES, FILE_BYTES),
        (resource.RLIMIT_NOFILE, FILES, FILES),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        resource.setrlimit(what, (soft, hard))


def die_with_parent() -> None:
    """Be killed when the thread that forked this process ends."""
    _libc().prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent has ended."""
    _libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def drop_privileges() -> None:
    """Give up all capabilities, and what set-user-id programs would add."""
    libc = _libc()
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.capset(struct.pack("Ii", _CAPABILITY_VERSION_3, 0), bytes(24))


def guard_memory(*, on: bool) -> None:
    """Let no other process of this user look into this one, or let it again."""
    _libc().prctl(_PR_SET_DUMPABLE, int(not on), 0, 0, 0)
