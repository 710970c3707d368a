"""A class's code runs in a jail: a process with torch loaded, shut in by bubblewrap.

    judges ── jail (in bubblewrap) ── nurseries, one for each judge ── students

In the jail there are Python, torch and `grader/student`, all read-only; an empty
home, a scratch folder, and nothing else: no network, no other process, no /etc,
no environment, neither the rest of the kit nor any submission.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.records import Layer

if TYPE_CHECKING:
    from grader.student.process import Nest

HOME = "/home/student"
_KIT = "/kit"
_STUDENT_SIDE = Path(__file__).parent
_ROOT = _STUDENT_SIDE.parents[1]
_PYTHON = (sys.executable, "-s", "-m", "grader.student.jail")
_SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/bin")
#: What the dynamic loader needs of /etc; names and passwords are not among it.
_LOADER = ("/etc/ld.so.cache", "/etc/alternatives")
_NAMESPACES = (
    *("--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534"),
    *("--hostname", "grader", "--cap-drop", "ALL", "--die-with-parent", "--new-session"),
)
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": HOME,
    # Memory in large pages is copied faster when a process is forked.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    # So that a report can be repeated, whatever order sets have in it.
    "PYTHONHASHSEED": "0",
}
_ELSEWHERE = "bubblewrap exists on Linux only; elsewhere use a virtual machine"
_LAYER = "bubblewrap"
_WHY = "read-only system, no network, empty home; kit and other submissions out of sight"
_START_SECONDS = 120


class JailError(Exception):
    """The jail did not start; the text is bubblewrap's or Python's last line."""


def missing() -> str | None:
    """Why bubblewrap can't be used here and what helps, in one line; None when it works."""
    if sys.platform != "linux":
        return _ELSEWHERE
    if not (program := shutil.which("bwrap")):
        return "bubblewrap is not installed (Debian, Ubuntu: sudo apt install bubblewrap)"
    trial = [program, *_NAMESPACES, *_system(), *_python(), "--proc", "/proc", "--dev", "/dev"]
    trial += ["--", sys.executable, "-I", "-S", "-c", ""]
    done = subprocess.run(
        trial, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    reason = (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1]
    return (
        f"bubblewrap is forbidden here ({reason.removeprefix('bwrap: ')}); in a container "
        "start it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
    )


def _layer(trusted: str) -> Layer:
    return Layer(_LAYER, on=not trusted, why=trusted or _WHY)


@dataclass
class Jail:
    """A jail and our end of the socket that asks it for nurseries.

    With ``trusted``, the reason why bubblewrap is off, it is open: a process
    like any other, and what keeps students apart are their own namespaces.
    """

    trusted: str = ""
    _process: subprocess.Popen[bytes] | None = None
    _control: socket.socket | None = None
    #: Why namespaces in the jail don't work here; None when they do.
    _refusal: str | None = None

    def start(self) -> None:
        """Start loading torch in the jail; `wait` for it, then ask for nurseries.

        Raises:
            OSError: there is no bubblewrap.
        """
        self._control, theirs = _socketpair()
        self._errors = tempfile.TemporaryFile()
        with theirs:
            command = [*_PYTHON, str(theirs.fileno())]
            self._process = subprocess.Popen(
                [*command, "open"] if self.trusted else [*_bubblewrap(), *command, "shut-in"],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=[theirs.fileno()],
                cwd="/",
                env={**_ENVIRONMENT, "PYTHONPATH": str(_ROOT if self.trusted else _KIT)},
            )
        self._ready = False

    def nursery(self) -> Nest:
        """A nursery in the jail, or, where its students could meet, in a jail of its own.

        Raises:
            JailError: the jail can't be started.
        """
        self.wait()
        if self._refusal is None or self.trusted:
            with contextlib.suppress(OSError):
                return self._nursery(single_use=False)
        # It was ended from within, or each student needs one: this process starts its own.
        self.close()
        self.wait()
        return self._nursery(single_use=self._refusal is not None and not self.trusted)

    def _nursery(self, *, single_use: bool) -> Nest:
        assert self._control is not None
        ours, theirs = _socketpair()
        with theirs:
            try:
                if sys.platform != "win32":
                    socket.send_fds(self._control, [b"nursery"], [theirs.fileno()])
                if not self._control.recv(64):  # bubblewrap outlives what is in it a little
                    raise BrokenPipeError
            except OSError:
                ours.close()
                raise
        if sys.platform == "linux":
            from grader.student.forked import Nursery  # it loads torch

            return Nursery(
                ours,
                refusal=self._refusal,
                scratch=None if self.trusted else HOME,
                layers=(_layer(self.trusted),),
                single_use=single_use,
            )
        raise JailError(_ELSEWHERE)

    def wait(self) -> None:
        """Wait until torch is loaded in the jail.

        Raises:
            JailError: it can't be started.
        """
        if self._control is None:
            self.start()
        if self._ready:
            return
        assert self._control is not None
        self._control.settimeout(_START_SECONDS)
        try:
            message = self._control.recv(4096)
        except OSError as error:
            message = b""
            reason = str(error)
        else:
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else "no reason given"
        if not message:
            self.close()
            raise JailError(f"the process for students' code did not start: {reason}")
        self._control.settimeout(None)
        self._refusal = json.loads(message)["refusal"]
        self._ready = True

    def close(self) -> None:
        """End the jail with all that is in it."""
        if self._control:
            self._control.close()
            self._control = None
        if self._process:
            with contextlib.suppress(OSError):  # in a fork of its parent, it isn't ours to end
                self._process.kill()
                self._process.wait()
            self._process = None


def _bubblewrap() -> list[str]:
    program = shutil.which("bwrap")
    if program is None:
        raise FileNotFoundError("bwrap")
    return [
        *(program, *_NAMESPACES),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108 - the jail's own
        *_system(),
        *_python(),  # after /tmp, where it may lie
        *("--dir", HOME, "--ro-bind", str(_STUDENT_SIDE), f"{_KIT}/grader/student"),
        *("--chdir", "/", "--"),
    ]


def _system() -> list[str]:
    """The system's programs and libraries, as they lie here."""
    words = []
    for place in _SYSTEM:
        if os.path.islink(place):
            words += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            words += ["--ro-bind", place, place]
    for place in _LOADER:
        words += ["--ro-bind-try", place, place]
    return words


def _python() -> list[str]:
    """Python and its packages, but for this kit where it is installed among them."""
    packages = [
        Path(spec.origin).parents[1]
        for name in ("torch", "numpy")
        if (spec := importlib.util.find_spec(name)) and spec.origin
    ]
    interpreter = Path(sys.executable).resolve().parents[1]
    places = {Path(sys.prefix), Path(sys.base_prefix), interpreter, *packages}
    shown = [place for place in places if not _within(place, places | {Path("/usr")})]
    words = [word for place in sorted(shown) for word in ("--ro-bind", str(place), str(place))]
    kit = _STUDENT_SIDE.parent
    if _within(kit, {*shown, Path("/usr")}):
        words += ["--tmpfs", str(kit)]
    return words


def _socketpair() -> tuple[socket.socket, socket.socket]:
    if sys.platform == "linux":
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    raise OSError(_ELSEWHERE)


def _within(place: Path, others: set[Path]) -> bool:
    return any(place != other and place.is_relative_to(other) for other in others)
