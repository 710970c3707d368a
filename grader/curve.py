"""The numbers of a picture: the student's gradient over x, the true one, a numerical one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from grader.checks import ending_words, error_words, gate_problem, load
from grader.records import Curve, Exercise
from grader.source import Source
from grader.student.process import Student, StudentEnded

_REACH, _POINTS = 2.0, 81
#: Near the cube root of float64's epsilon: there a central difference is most exact.
_STEP = 1e-5


class _Nothing(Exception):  # noqa: N818 - not a fault: there is nothing to draw
    """Why the student's code gave no numbers."""


def trace(student: Student | None, exercise: Exercise, source: Source) -> Curve:
    """Ask the student's process for its gradient, and for its forward on both sides of x.

    Without a process, for a file that Python can't read, there is only the true gradient.
    """
    x = torch.linspace(-_REACH, _REACH, _POINTS, dtype=torch.float64)
    ones = torch.ones_like(x)
    curve = Curve(exercise.name, source.name, _floats(x), true=_floats(exercise.gradient(x, ones)))
    if student is None or source.trouble:
        return replace(curve, trouble=source.trouble.words if source.trouble else "no process")
    if problem := gate_problem(load(student, exercise, source.data)):
        return replace(curve, trouble=problem)
    try:
        curve = replace(curve, numerical=_floats(_differences(student, x)))
        given = {"repeat": 1, "change_x": False, "layouts": ["", ""]}
        yours = _ask(student, x, "backward", "grad0", grad_output=ones, **given)
        return replace(curve, yours=_floats(yours))
    except _Nothing as nothing:
        return replace(curve, trouble=str(nothing))


def _differences(student: Student, x: torch.Tensor) -> torch.Tensor:
    """Central differences of the student's forward."""
    right, left = x + _STEP, x - _STEP
    both = torch.cat([right, left])
    y = _ask(student, both, "forward", "y", requires_grad=False, layout="")
    return (y[: len(x)] - y[len(x) :]) / (right - left)


def _ask(
    student: Student, x: torch.Tensor, operation: str, output: str, **given: Any
) -> torch.Tensor:
    """One number for each x, or the reason why not."""
    try:
        answer = student.ask(operation, x=x, **given)
    except StudentEnded as ended:
        raise _Nothing(ending_words(ended, operation)) from None
    tensor = answer.tensors.get(output)
    if answer.error:
        trouble = f"{operation} raised {error_words(answer.error)}"
        raise _Nothing(trouble)
    if tensor is None or tensor.shape != x.shape or tensor.is_complex():
        trouble = f"{operation} gives no number for each x"
        raise _Nothing(trouble)
    return tensor


def _floats(tensor: torch.Tensor) -> tuple[float, ...]:
    return tuple(tensor.double().tolist())
