"""The untrusted side: load a student's file and answer requests with numbers.

It holds no reference value and no check. Each operation runs the student's code
the way that a user of `Cube` would, and sends back the tensors that came out,
with facts about how. An operation never raises: an error is an answer, too.

What no file has a say in is done when a `Student` is made: where many are forked
from one process, it is made there, before the first of them.
"""

from __future__ import annotations

import atexit
import gc
import importlib.util
import inspect
import os
import random
import sys
import tempfile
import threading
import types
from pathlib import Path
from typing import Any

import torch

from grader.student import wire
from grader.student.trace import Calls, Events, Snapshot, describe, describe_error

Tensors = dict[str, torch.Tensor]
Facts = dict[str, Any]

#: A tensor with more elements is not sent; no right answer has as many.
_LARGEST = 1 << 14

_KEPT_ENVIRONMENT = (
    *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
    # Windows itself needs these to load libraries and to start programs.
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "PROCESSOR_ARCHITECTURE"),
)


class _Upstream(torch.autograd.Function):
    """A scalar whose gradient with respect to y is exactly the tensor grad_output.

    It hands grad_output over as it is, with its strides, like an engine that
    has just computed it.
    """

    @staticmethod
    def forward(ctx: Any, y: torch.Tensor, grad_output: torch.Tensor) -> torch.Tensor:
        ctx.grad_output = grad_output
        return torch.zeros((), dtype=y.dtype)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.grad_output, None


def _upstream(y: torch.Tensor, grad_output: torch.Tensor) -> torch.Tensor:
    loss: torch.Tensor = _Upstream.apply(y, grad_output)  # type: ignore[no-untyped-call]
    return loss


class Student:
    """One loaded file and the operations on it."""

    def __init__(self) -> None:
        _clean_interpreter()
        self.events = Events()

    def serve(self, connection: wire.Channel, events_fd: int, module: str) -> None:
        """Answer requests about `module`.py, here in the working directory, until hung up on."""
        self.connection, self.name, scratch = connection, module, os.getcwd()
        self.path = os.path.join(scratch, module + ".py")
        self.cube: Any = None
        self.helper: Any = None
        self.stage = "import"
        self.events.tell(events_fd, scratch)
        _move_in(scratch, self.path)
        process, self.before = os.getpid(), Snapshot()
        while True:
            try:
                for operation, given, tensors in wire.receive_requests(connection):
                    answer, out = self._act(operation, given, tensors)
                    if os.getpid() != process:
                        os._exit(0)  # a copy that the student's code forked
                    self._answer(answer, out)
                connection.flush()
            except (EOFError, OSError, wire.WireError):
                return

    def _answer(self, facts: Facts, out: Tensors) -> None:
        try:
            wire.send(self.connection, facts, out)
        except (EOFError, OSError):
            raise
        except BaseException as error:  # student code may have broken what we use
            facts = {"error": {**describe_error(error, self.path), "stage": "answer"}}
            wire.send(self.connection, facts, {})

    def _act(self, name: str, given: Facts, tensors: Tensors) -> tuple[Facts, Tensors]:
        operation = getattr(self, "do_" + name)
        calls = Calls(self._watched() if given.pop("watch", False) else {})
        self.stage = name
        out: Tensors = {}
        facts: Facts = {}
        self.events.on = True
        try:
            with calls:
                operation(out, facts, tensors, **given)
        except BaseException as error:  # SystemExit and KeyboardInterrupt are answers as well
            facts["error"] = {**describe_error(error, self.path), "stage": self.stage}
        finally:
            self.events.on = False
        facts["returned"] = calls.returned
        return facts, {name: t for name, t in out.items() if t.numel() <= _LARGEST}

    def _watched(self) -> dict[types.CodeType, str]:
        watched = {}
        for name, label in (("forward", "forward"), ("backward", "backward"), ("vjp", "backward")):
            function = inspect.getattr_static(self.cube, name, None) if self.cube else None
            function = getattr(function, "__func__", function)
            function = inspect.unwrap(function) if callable(function) else None
            if (
                isinstance(function, types.FunctionType)
                and function.__code__.co_filename == self.path
            ):
                watched[function.__code__] = label
        return watched

    # Operations. Each fills `out` with tensors and `facts` with the rest.

    def do_load(
        self, out: Tensors, facts: Facts, tensors: Tensors, class_name: str, helper_name: str
    ) -> None:
        """Write the file into the scratch folder and import it as a module."""
        source = tensors["source"].numpy().tobytes()
        Path(self.path).write_bytes(source)
        spec = importlib.util.spec_from_file_location(self.name, self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.name] = module
        self.stage = "import"
        spec.loader.exec_module(module)
        names = vars(module)
        self.cube = names.get(class_name)
        self.helper = names.get(helper_name)
        is_class = isinstance(self.cube, type)
        facts["class"] = {
            "defined": class_name in names,
            "value": describe(self.cube),
            "is_class": is_class,
            "is_function": is_class and issubclass(self.cube, torch.autograd.Function),
            "bases": [b.__name__ for b in self.cube.__mro__[1:]] if is_class else [],
            "has_apply": hasattr(self.cube, "apply"),
            "static": {
                name: type(inspect.getattr_static(self.cube, name, None)).__name__
                for name in ("forward", "backward", "vjp", "setup_context")
            },
        }
        facts["helper"] = {
            "defined": helper_name in names,
            "callable": callable(self.helper),
            "value": describe(self.helper),
        }
        facts["functions"] = [
            name for name, v in names.items() if _is_custom_function(v) and type(name) is str
        ][:20]
        facts["patched"] = self.before.patched(source.decode(errors="replace"))
        facts["settings"] = self.before.changed_settings()

    def do_forward(
        self, out: Tensors, facts: Facts, tensors: Tensors, requires_grad: bool, layout: str
    ) -> None:
        """Y = Cube.apply(x), and x as it is afterwards."""
        x = _laid_out(tensors["x"], layout).requires_grad_(requires_grad)
        y = self._apply(x)
        self._tell(out, facts, "y", y)
        self._tell(out, facts, "x", x)
        facts["grad_fn"] = _grad_fn(y, self.cube)
        if facts["grad_fn"] in ("cube", "custom"):
            self._tell_context(out, facts, y.grad_fn)

    def do_backward(
        self,
        out: Tensors,
        facts: Facts,
        tensors: Tensors,
        repeat: int,
        change_x: bool,
        layouts: list[str],
    ) -> None:
        """The gradient of x for a given grad_output, `repeat` times on one graph.

        `layouts` says how x and grad_output lie in memory. With `change_x`, x is
        doubled in place between forward and backward.
        """
        x = _laid_out(tensors["x"], layouts[0]).requires_grad_()
        grad_output = _laid_out(tensors["grad_output"], layouts[1])
        y = self._apply(x)
        facts["grad_fn"] = _grad_fn(y, self.cube)
        if change_x:
            with torch.no_grad():
                x.mul_(2)
        loss = _upstream(y, grad_output)
        self.stage = "backward"
        for turn in range(repeat):
            (grad,) = torch.autograd.grad(loss, x, retain_graph=True, allow_unused=True)
            self._tell(out, facts, f"grad{turn}", grad)
        self._tell(out, facts, "x", x)
        self._tell(out, facts, "grad_output", grad_output)

    def do_interleaved(
        self, out: Tensors, facts: Facts, tensors: Tensors, order: list[int]
    ) -> None:
        """Two forward calls, then their two backward calls in the given order."""
        losses, inputs = [], []
        for i in (0, 1):
            x = tensors[f"x{i}"].requires_grad_()
            self.stage = "forward"
            losses.append(_upstream(self._apply(x), tensors[f"grad_output{i}"]))
            inputs.append(x)
        self.stage = "backward"
        for i in order:
            (grad,) = torch.autograd.grad(losses[i], inputs[i], allow_unused=True)
            self._tell(out, facts, f"grad{i}", grad)

    def do_inside_a_graph(self, out: Tensors, facts: Facts, tensors: Tensors) -> None:
        """X -> z = 2x - 1 -> y = Cube(z), used twice: 3y and y². Sends z, y and x.grad."""
        x = tensors["x"].requires_grad_()
        z = 2 * x - 1
        y = self._apply(z)
        loss = _upstream(3 * y + y * y, tensors["grad_output"])
        self.stage = "backward"
        loss.backward()
        self._tell(out, facts, "grad", x.grad)

    def do_no_grad(self, out: Tensors, facts: Facts, tensors: Tensors) -> None:
        """The value alone, where no gradient is wanted."""
        with torch.no_grad():
            self._tell(out, facts, "y", self._apply(tensors["x"]))

    def do_second(self, out: Tensors, facts: Facts, tensors: Tensors) -> None:
        """The derivative of the gradient: d/dx of the sum of (dy/dx · grad_output)."""
        x = tensors["x"].requires_grad_()
        grad_output = tensors["grad_output"].requires_grad_()
        loss = _upstream(self._apply(x), grad_output)
        self.stage = "backward"
        (grad,) = torch.autograd.grad(loss, x, create_graph=True)
        self._tell(out, facts, "grad", grad)
        facts["differentiable"] = bool(grad.requires_grad)
        if grad.requires_grad:
            self.stage = "second derivative"
            (second,) = torch.autograd.grad(grad.sum(), x, allow_unused=True)
            self._tell(out, facts, "second", second)

    def do_helper(
        self, out: Tensors, facts: Facts, tensors: Tensors, repeat: int, layout: str
    ) -> None:
        """cube_grad(x), `repeat` times with the same x; then what became of x."""
        x = _laid_out(tensors["x"], layout)
        self.stage = "cube_grad"
        for turn in range(repeat):
            self._tell(out, facts, f"grad{turn}", self.helper(x))
        self._tell(out, facts, "x", x)
        facts["x_requires_grad"] = x.requires_grad
        facts["x_has_grad"] = x.is_leaf and x.grad is not None

    def do_farewell(self, out: Tensors, facts: Facts, tensors: Tensors) -> None:
        """What the code leaves behind: threads, and exit hooks, which run now."""
        facts["threads"] = [t.name[:80] for t in threading.enumerate()[1:9] if not t.daemon]
        self.stage = "exit"
        atexit._run_exitfuncs()

    def _tell_context(self, out: Tensors, facts: Facts, ctx: Any) -> None:
        """What forward left on ctx: saved tensors, and tensors kept as attributes."""
        facts["ctx_tensors"] = [
            str(name)[:80] for name, v in vars(ctx).items() if isinstance(v, torch.Tensor)
        ][:8]
        try:
            saved = ctx.saved_tensors
        except RuntimeError:  # one of them was changed in place
            return
        facts["saved"] = len(saved)
        for i, tensor in enumerate(saved[:4]):
            self._tell(out, facts, f"saved{i}", tensor)

    def _apply(self, x: torch.Tensor) -> Any:
        self.stage = "forward"
        return self.cube.apply(x)

    def _tell(self, out: Tensors, facts: Facts, name: str, value: Any) -> None:
        facts.setdefault("values", {})[name] = about = describe(value)
        if about["kind"] in ("tuple", "list") and about["length"]:
            value, about = value[0], about["items"][0]
        if about["kind"] == "tensor" and about["strided"]:
            plain = torch.Tensor.as_subclass(value, torch.Tensor).detach()
            if plain.dtype in wire.DTYPES:
                out[name] = plain.clone()  # as it is now: later calls may change it


def _clean_interpreter() -> None:
    """Make this process look like a fresh `python`."""
    home = str(Path(__file__).parents[2])  # an installed grader lies among the other packages
    ours = {"", home} - {p for p in sys.path if p.endswith("-packages")}
    kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    os.environ.clear()
    os.environ.update(kept)
    sys.path[:] = [p for p in sys.path if p not in ours]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.dont_write_bytecode = True
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(
        1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    sys.stderr = open(
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )


def _move_in(scratch: str, path: str) -> None:
    """Make it look as if this `python` was about to import `path`, which lies in `scratch`."""
    home = os.path.join(scratch, "home")
    os.mkdir(home)
    os.environ.update(HOME=home, TMPDIR=scratch)
    if sys.platform == "win32":
        os.environ.update(USERPROFILE=home, TEMP=scratch, TMP=scratch)
    sys.argv[:] = [os.path.basename(path)]
    sys.path.insert(0, scratch)
    tempfile.tempdir = None
    atexit._clear()
    random.seed()
    torch.default_generator.seed()  # torch.seed() would look for graphics cards as well
    gc.enable()


def _laid_out(t: torch.Tensor, layout: str) -> torch.Tensor:
    """The same numbers, lying otherwise in memory."""
    if layout == "transposed":
        return t.mT.contiguous().mT
    if layout == "strided":  # every other element of a larger tensor
        return torch.stack([t, torch.full_like(t, 7)], dim=-1)[..., 0]
    if layout == "expanded":  # one row that stands for all
        return t[:1].expand_as(t)
    if layout == "expanded scalar":  # as .sum() hands it back
        return t.flatten()[0].expand_as(t)
    return t


def _is_custom_function(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, torch.autograd.Function)


def _grad_fn(y: Any, cube: Any) -> str:
    """Whose backward will run: "cube", "custom" (another Function), "builtin" or "none"."""
    if not isinstance(y, torch.Tensor) or y.grad_fn is None:
        return "none"
    owner = getattr(type(y.grad_fn), "_forward_cls", None)
    if owner is None:
        return "builtin"
    return "cube" if owner is cube else "custom"
