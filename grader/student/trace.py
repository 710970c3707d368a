"""What can be seen of a student's code while it runs, told as plain facts.

Nothing here is believed when it comes to the verdict: it explains numbers.
"""

from __future__ import annotations

import builtins
import json
import os
import re
import sys
import sysconfig
import types
import unicodedata
from collections.abc import Callable
from typing import Any, Self

import torch

#: What the standard library does of its own accord, too: a pool ends its workers.
_DIRECTLY = frozenset(("os.kill", "os.killpg", "sys._getframe"))
_MAX_TEXT = 2000
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")
_HERE = os.path.dirname(__file__)
_MAX_EVENTS = 200

#: Audit events that an exercise on a backward pass has no use for.
_EVENTS = frozenset(
    [
        "builtins.input",
        "glob.glob",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.posix_spawn",
        "os.putenv",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "pathlib.Path.glob",
        "pathlib.Path.rglob",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "shutil.rmtree",
        "signal.pthread_kill",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "subprocess.Popen",
        "sys._getframe",
        "sys.addaudithook",
    ]
)
_SECRETS = re.compile(r"solution|/etc/|/proc/.*(environ|cmdline|mem)|\.ssh|gradebook|exercises")


def describe(value: Any) -> dict[str, Any]:
    """Say what kind of value this is, without trusting any method of its own."""
    kind = type(value)
    if value is None:
        return {"kind": "none"}
    if kind is torch.Tensor or issubclass(kind, torch.Tensor):
        plain = value if kind is torch.Tensor else torch.Tensor.as_subclass(value, torch.Tensor)
        return {
            "kind": "tensor",
            "plain": kind in (torch.Tensor, torch.nn.Parameter),
            "type": _text(kind.__name__, 80),
            "shape": list(plain.shape),
            "dtype": str(plain.dtype).removeprefix("torch."),
            "requires_grad": plain.requires_grad,
            "strided": (strided := plain.layout == torch.strided and plain.device.type == "cpu"),
            "one": float(plain.detach())
            if strided and plain.numel() == 1 and not plain.is_complex()
            else None,
        }
    if kind in (tuple, list):
        return {
            "kind": kind.__name__,
            "length": len(value),
            "items": [describe(item) for item in value[:4]],
        }
    if kind in (int, float, bool, complex):
        return {"kind": "number", "type": kind.__name__}
    if isinstance(value, types.FunctionType | types.MethodType | types.BuiltinFunctionType):
        return {"kind": "function"}
    return {"kind": "other", "type": _text(kind.__name__, 80), "module": _text(kind.__module__, 80)}


def describe_error(error: BaseException, path: str) -> dict[str, Any]:
    """An exception as facts: its type, its text (cut), and its lines in the file at `path`."""
    try:
        message = _text(str(error), _MAX_TEXT)
    except BaseException:  # a hostile __str__
        message = "(its text can't be read)"
    where: list[list[Any]] = []
    trace = error.__traceback__
    while trace is not None and len(where) < 2000:
        code = trace.tb_frame.f_code
        if code.co_filename == path:
            where.append([trace.tb_lineno, code.co_name])
        trace = trace.tb_next
    facts: dict[str, Any] = {
        "type": _text(type(error).__name__, 80),
        "bases": [_text(base.__name__, 80) for base in type(error).__mro__],
        "message": message,
        "where": where[:3] + where[3:][-3:],
    }
    if isinstance(error, ImportError):
        facts["missing"] = _text(str(error.name), 80)
    return facts


def _text(value: object, size: int) -> str:
    text = str.__str__(value) if isinstance(value, str) else ""
    return text[:size]


_Trace = Callable[[types.FrameType, str, Any], Any]


class Calls:
    """Context that notes what some functions return.

    ``watched`` maps a code object to a name; ``returned[name]`` describes the
    last value that it returned.
    """

    def __init__(self, watched: dict[types.CodeType, str]) -> None:
        self.watched = watched
        self.returned: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        # A trace function hears of Python's calls only; a profile function also of
        # each call into C, which makes everything several times slower.
        self._before = sys.gettrace()
        if self.watched:
            sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        if self.watched:
            sys.settrace(self._before)

    def _called(self, frame: types.FrameType, event: str, arg: Any) -> _Trace | None:
        if frame.f_code not in self.watched:
            return None
        frame.f_trace_lines = False
        return self._returned

    def _returned(self, frame: types.FrameType, event: str, arg: Any) -> _Trace:
        if event == "return":
            self.returned[self.watched[frame.f_code]] = describe(arg)
        return self._returned


class Events:
    """An audit hook that tells what student code does to the system, line by line.

    Each event is written before the act, so that even an act that ends this
    process is known.
    """

    def __init__(self) -> None:
        self.on = False
        sys.addaudithook(self._hook)

    def tell(self, fd: int, scratch: str) -> None:
        """Write to `fd` from now on, whenever it is `on`, what code in `scratch` does."""
        self.fd, self.scratch, self.count = fd, scratch, 0

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on or self.count >= _MAX_EVENTS:
            return
        detail: str | None
        if event == "open":
            detail = self._suspicious_open(args)
        elif event in _EVENTS:
            detail = ", ".join(
                _text(repr(a), 200) for a in args if type(a) in (str, int, list, tuple)
            )
        else:
            return
        if detail is None or not self._by_student(directly=event in _DIRECTLY):
            return
        self.count += 1
        os.write(self.fd, json.dumps([event, detail]).encode() + b"\n")

    def _by_student(self, *, directly: bool) -> bool:
        """Whether the student's own code asked for it, and not a package that it imports.

        Unless it has to be `directly`, it may have asked by way of the standard library.
        """
        for file in self._callers():
            if file.startswith((self.scratch, "<string>")):
                return True
            between = file.startswith((_STANDARD_LIBRARY, "<frozen", _HERE))
            if directly or not between or "-packages" in file:
                return False
        return False

    def _callers(self) -> list[str]:
        """The files of the code that is running, innermost first."""
        self.on = False  # our own look at the frames would come back to the hook
        frame: types.FrameType | None = sys._getframe(3)
        self.on = True
        files = []
        while frame is not None:
            files.append(frame.f_code.co_filename)
            frame = frame.f_back
        return files

    def _suspicious_open(self, args: tuple[Any, ...]) -> str | None:
        path, _, flags = (*args, None, None, None)[:3]
        if type(path) is bytes:
            path = os.fsdecode(path)
        if type(path) is not str:
            return None
        place = os.path.abspath(path)
        inside = path == os.devnull or place.startswith(self.scratch + os.sep)
        writes = bool(type(flags) is int and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if writes and not inside:
            return f"write {place[:200]}"
        library = "-packages" in place or place.startswith(_STANDARD_LIBRARY)
        if inside or library or not _SECRETS.search(place.replace(os.sep, "/")):
            return None
        return f"read {place[:200]}"


_OWNERS: dict[str, Any] = {
    "builtins": builtins,
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.autograd": torch.autograd,
    "torch.autograd.Function": torch.autograd.Function,
    "torch.testing": torch.testing,
    "torch.autograd.gradcheck": sys.modules.get("torch.autograd.gradcheck", torch.testing),
}
#: Copied once, in the nursery: a copy touches each value, and so takes its memory page anew.
_NAMES = {place: dict(vars(owner)) for place, owner in _OWNERS.items()}


#: What can set a name that doesn't stand in the source.
_MAKES_NAMES = re.compile(
    r"__|\b(setattr|delattr|exec|eval|compile|globals|locals|vars|dir|reload|ctypes)\b"
)


class Snapshot:
    """Names and settings of Python and torch, as they were before student code ran."""

    def __init__(self) -> None:
        self._settings = self._read_settings()

    @staticmethod
    def _read_settings() -> dict[str, Any]:
        return {
            "the default dtype": torch.get_default_dtype(),
            "grad mode": torch.is_grad_enabled() and not torch.is_inference_mode_enabled(),
            "the working directory": os.getcwd(),
            "sys.path": list(sys.path),
            "the number of threads": torch.get_num_threads(),
        }

    def patched(self, source: str) -> list[str]:
        """Dotted names whose value is another one now; new names don't count.

        A look at a value takes its memory page anew, so where names can't be made
        up while `source` runs, only those that stand in it are looked at.
        """
        source = unicodedata.normalize("NFKC", source)  # as Python does with names
        mentioned = None if _MAKES_NAMES.search(source) else set(re.findall(r"\w+", source))
        return [
            f"{place}.{name}"
            for place, owner in _OWNERS.items()
            for before in (_NAMES[place],)
            for name in (before if mentioned is None else sorted(mentioned & before.keys()))
            # torch itself renames torch.Storage when the default dtype changes.
            if name != "Storage" and vars(owner).get(name, before[name]) is not before[name]
        ][:20]

    def changed_settings(self) -> list[str]:
        """Settings that have another value now."""
        now = self._read_settings()
        return [name for name, value in self._settings.items() if now[name] != value]
