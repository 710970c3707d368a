"""torch's own gradcheck, run in the trusted process on a Function that asks the student's."""

from __future__ import annotations

import warnings
from collections import defaultdict, deque
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError

from grader.student.process import Answer, Student, StudentEnded
from grader.student.wire import Request

_EPS = 1e-6


class _ProxyError(Exception):
    pass


def gradcheck(student: Student, x: torch.Tensor) -> str:
    """Return what gradcheck, in float64, has to say against Cube: "" for nothing."""
    try:
        ask = _Ahead(student, _questions(x)).ask

        class Proxy(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
                ctx.save_for_backward(x)
                return _numbers(ask(_forward(x)), "y", x)

            @staticmethod
            def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
                (x,) = ctx.saved_tensors
                return _numbers(ask(_backward(x, grad_output)), "grad0", x)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.autograd.gradcheck(Proxy.apply, (x.clone().requires_grad_(),), eps=_EPS)
    except (StudentEnded, _ProxyError, GradcheckError) as error:
        return str(error)
    return ""


def _forward(x: torch.Tensor) -> Request:
    return "forward", {"x": x, "requires_grad": False, "layout": ""}


def _backward(x: torch.Tensor, grad_output: torch.Tensor) -> Request:
    given = {"x": x, "grad_output": grad_output, "repeat": 1}
    return "backward", {**given, "change_x": False, "layouts": ["", ""]}


def _numbers(answer: Answer, output: str, wanted: torch.Tensor) -> torch.Tensor:
    tensor = answer.tensors.get(output)
    if tensor is None or tensor.shape != wanted.shape or tensor.dtype != wanted.dtype:
        error = answer.error or {}
        raise _ProxyError(f"{error.get('type', 'no gradient came')}: {error.get('message', '')}")
    return tensor


def _questions(x: torch.Tensor) -> list[Request]:
    """What gradcheck is going to ask, in its order, as far as we know."""
    moved = []
    for i in range(x.numel()):
        for step in (-_EPS, _EPS):
            moved.append(x.clone())
            moved[-1][i] = x[i].item() + step
    rows, zeros = list(torch.eye(x.numel(), dtype=x.dtype)), torch.zeros_like(x)
    return [
        *(_forward(each) for each in (x, *moved)),
        *(_backward(x, row) for row in (*rows, *rows, zeros)),
        *(_forward(x), _backward(x, zeros)),
    ]


class _Ahead:
    """Puts the expected questions all at once, and any other when it comes."""

    def __init__(self, student: Student, expected: list[Request]) -> None:
        self._student = student
        self._answers: dict[bytes, deque[Answer]] = defaultdict(deque)
        for request, answer in zip(expected, student.ask_all(expected), strict=True):
            self._answers[self._key(request)].append(answer)

    def ask(self, request: Request) -> Answer:
        """The answer to this question; each that came ahead counts once."""
        waiting = self._answers[self._key(request)]
        operation, given = request
        return waiting.popleft() if waiting else self._student.ask(operation, **given)

    @staticmethod
    def _key(request: Request) -> bytes:
        tensors = [v for v in request[1].values() if isinstance(v, torch.Tensor)]
        return b"".join([request[0].encode(), *(t.detach().numpy().tobytes() for t in tensors)])
