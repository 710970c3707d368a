"""The layers around a student's process that the system offers without help.

Linux namespaces hide everything that the code has no business with: other
processes, the network, the places in `hide`; the file system becomes read-only
but for a scratch folder. Limits bound what one process may use.
Sources: user_namespaces(7), pid_namespaces(7), mount_setattr(2), getrlimit(2).
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from pathlib import Path

CPU_SECONDS = 10
WALL_SECONDS = 30
MEMORY_BYTES = 1 << 30
FILE_BYTES = 16 << 20
SCRATCH_BYTES = 64 << 20
PROCESSES = 64

_NEWNS, _NEWIPC, _NEWUTS = 0x00020000, 0x08000000, 0x04000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 1 << 18
_SYS_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _ATTR_RDONLY = 442, -100, 0x8000, 1
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = 1, 38, 36
_SIGKILL = 9
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - it is replaced, not used


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
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _tmpfs(place: str, size: int) -> None:
    options = f"size={size},mode=0777".encode()
    _check(_libc().mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, options), f"tmpfs on {place}")


def enter_namespaces(scratch: str, hide: list[str]) -> None:
    """Put this process (one thread) and its next child into namespaces of their own.

    Raises:
        OSError: the system refuses; then part of it may have happened, and the
            process should not go on to run a student's code.
    """
    _own_user_namespace(_NEWNS | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS)
    libc = _libc()
    _check(libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "private mounts")
    read_only = struct.pack("QQQQ", _ATTR_RDONLY, 0, 0, 0)
    _check(
        libc.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, read_only, len(read_only)),
        "read-only mounts",
    )
    for place in hide:
        if os.path.isdir(place):
            _tmpfs(place, 4096)
    _tmpfs(scratch, SCRATCH_BYTES)
    if os.path.isdir(_SHARED_MEMORY):
        _tmpfs(_SHARED_MEMORY, SCRATCH_BYTES)


def seal_namespaces() -> None:
    """In the child: its own view of /proc, and mounts that it can't undo."""
    _check(_libc().unshare(_NEWNS), "unshare")  # the warden keeps the old /proc
    # A container may forbid a new /proc; the old one then shows names, not more.
    _libc().mount(b"proc", b"/proc", b"proc", 0, None)
    # Mounts that come from a more privileged namespace are locked here.
    _own_user_namespace(_NEWNS)


def limit_resources() -> None:
    """Bound what this process may use; beyond it the kernel ends it or refuses."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        present = int(statm.read().split()[0]) * resource.getpagesize()
    for what, soft, hard in (
        (resource.RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS + 1),
        (resource.RLIMIT_AS, present + MEMORY_BYTES, present + MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, FILE_BYTES, FILE_BYTES),
        (resource.RLIMIT_NOFILE, 256, 256),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        resource.setrlimit(what, (soft, hard))


def die_with_parent() -> None:
    """Be killed when the thread that forked this process ends."""
    _libc().prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent has ended."""
    _libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def no_new_privileges() -> None:
    """Give up what set-user-id programs would add."""
    _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
