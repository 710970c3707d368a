"""What a student's code is asked, with the answer that is expected.

Inputs are drawn from `torch.Generator`; expected values are computed here, in
the trusted process, from the exercise's closed forms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import torch

from grader.records import Exercise, Point
from grader.student.process import Answer, Student, StudentEnded

#: Greatest relative error; float64 lets no float32 cast through, float32 allows
#: any sensible order of operations.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}

Kind = Literal[
    "ended", "error", "missing", "subclass", "shape", "dtype", "value", "changed", "builtin"
]


#: Which aspect a question tells apart from ordinary ones, by its words.
_ASPECTS = {
    "0-d": "shape",
    "0-d x": "shape",
    "2-d": "shape",
    "3-d x": "shape",
    "empty": "shape",
    "empty x": "shape",
    "empty 2-d x": "shape",
    "one element": "shape",
    "many elements": "shape",
    "transposed x": "layout",
    "transposed grad_output": "layout",
    "every other element": "layout",
    "expanded grad_output": "layout",
    "grad_output as .sum() gives it": "layout",
    "float32": "dtype",
    "large x": "size",
    "backward twice on one graph": "repeat",
    "two forward calls, then their backward calls": "interleaved",
    "a graph that goes on before and after": "graph",
    "with create_graph=True": "graph",
}


@dataclass(frozen=True)
class Question:
    """One request: `words` say what it is, `expected` holds tensors by output name.

    `x` and `grad_output` are what each expected value belongs to, for showing.
    """

    words: str
    operation: str
    arguments: dict[str, Any]
    expected: dict[str, torch.Tensor]
    x: dict[str, torch.Tensor] = field(default_factory=dict)
    grad_output: dict[str, torch.Tensor] = field(default_factory=dict)
    #: Whether to see what forward and backward themselves return; it doubles the time.
    watch: bool = False

    @property
    def aspect(self) -> str:
        """What this question is about, where the others of its check are not."""
        return _ASPECTS.get(self.words, "values")


@dataclass(frozen=True)
class Finding:
    """What is wrong with one answer: `output` is the value concerned."""

    kind: Kind
    question: Question
    output: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    worst: Point | None = None
    ended: StudentEnded | None = None


@dataclass(frozen=True)
class Outcome:
    """A question with what came back: an answer, or the end of the student's process."""

    question: Question
    answer: Answer | None
    ended: StudentEnded | None = None

    @cached_property
    def finding(self) -> Finding | None:
        """The first thing that is wrong, or None where all is as expected."""
        question = self.question
        if self.answer is None:
            return Finding("ended", question, ended=self.ended)
        facts = self.answer.facts
        if self.answer.error:
            return Finding("error", question, facts=facts)
        if facts.get("grad_fn") == "builtin":
            return Finding("builtin", question, facts=facts)
        values = facts.get("values")
        if not isinstance(values, dict):
            values = {}
        for output, expected in question.expected.items():
            about = values.get(output)
            about = about if isinstance(about, dict) else {}
            finding = self._judge(output, expected, about)
            if finding:
                return finding
        return None

    def _judge(self, output: str, expected: torch.Tensor, about: dict[str, Any]) -> Finding | None:
        assert self.answer is not None
        question, facts = self.question, {**self.answer.facts, "about": about}
        yours = self.answer.tensors.get(output)
        if about.get("kind") != "tensor":
            return Finding("missing", question, output, facts)
        if about.get("plain") is not True:
            return Finding("subclass", question, output, facts)
        shape = list(yours.shape) if yours is not None else about.get("shape")
        dtype = str(yours.dtype)[6:] if yours is not None else about.get("dtype")
        if shape != list(expected.shape):
            return Finding("shape", question, output, facts)
        if dtype != str(expected.dtype)[6:]:
            return Finding("dtype", question, output, facts)
        if yours is None:
            return Finding("missing", question, output, facts)
        sent = question.arguments.get(output)
        kind: Kind = "changed" if isinstance(sent, torch.Tensor) else "value"
        worst = worst_point(
            yours, expected, question.x.get(output), question.grad_output.get(output)
        )
        return Finding(kind, question, output, facts, worst) if worst else None


def ask(student: Student, question: Question) -> Outcome:
    """Put one question; never raises for what the student's code does."""
    return ask_all(student, [question])[0][0]


def ask_all(student: Student, *groups: list[Question]) -> list[list[Outcome]]:
    """Put groups of questions at once; a group ends where the student's process does."""
    answers = student.ask_all(
        [(q.operation, {**q.arguments, "watch": q.watch}) for group in groups for q in group]
    )
    outcomes: list[list[Outcome]] = []
    ended: StudentEnded | None = None
    for group in groups:
        outcomes.append([])
        for question in group:
            try:
                answer = None if ended else next(answers)
            except StudentEnded as end:
                answer, ended = None, end
            outcomes[-1].append(Outcome(question, answer, ended))
            if ended:
                break
    return outcomes


def excess(
    yours: torch.Tensor, expected: torch.Tensor, scale: torch.Tensor | None = None
) -> torch.Tensor:
    """How many times the tolerance each element is off; inf for nan and infinities.

    `scale` (default 1) is the size of what an error near zero is measured against.
    """
    near_zero = torch.ones_like(expected) if scale is None else scale.abs()
    allowed = TOLERANCE[expected.dtype] * (expected.abs() + near_zero)
    off = ((yours - expected).abs() / allowed).double()
    return torch.where(torch.isfinite(yours), off, torch.inf)


def worst_point(
    yours: torch.Tensor,
    expected: torch.Tensor,
    x: torch.Tensor | None,
    grad_output: torch.Tensor | None,
) -> Point | None:
    """The element that is farthest off, or None where all are within tolerance."""
    if torch.allclose(yours, expected, rtol=TOLERANCE[expected.dtype], atol=0):
        return None  # which is quickly seen, and mostly so
    off = excess(yours, expected, grad_output)
    flat = int(off.argmax())
    if not off.flatten()[flat] > 1:
        return None
    at = torch.unravel_index(torch.tensor(flat), expected.shape) if expected.ndim else ()
    index = tuple(int(i) for i in at)
    return Point(
        index,
        float(x[index]) if x is not None else float("nan"),
        float(grad_output[index]) if grad_output is not None else None,
        float(yours[index]),
        float(expected[index]) + 0.0,  # -0.0 would only puzzle
    )


#: How many numbers are drawn at once; more than one question needs.
_POOL = 8192


class Examiner:
    """Draws the inputs of one run and writes the questions of each check."""

    def __init__(self, exercise: Exercise, seed: int) -> None:
        self.exercise = exercise
        self.random = torch.Generator().manual_seed(seed)
        self._drawn = _POOL

    def draw(self, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        """Numbers of both signs with sizes from 0.3 to 3, none of them 1 or a whole number."""
        count = math.prod(shape)
        if self._drawn + count > _POOL:
            self._fill()
        start, self._drawn = self._drawn, self._drawn + count
        # Any two neighbours differ in sign, so that each probe has both.
        overall = next(self._signs)
        numbers: torch.Tensor = self._pool[start : start + count] * overall
        return numbers.reshape(shape).to(dtype)

    def _fill(self) -> None:
        """Draw many numbers at once; one by one takes ten times as long."""
        size = 0.3 + 2.7 * torch.rand(_POOL, generator=self.random, dtype=torch.float64)
        size = torch.where((size - size.round()).abs() < 0.02, size + 0.05, size)
        size[1::2] *= -1
        signs = torch.randint(0, 2, (_POOL,), generator=self.random) * 2 - 1
        self._pool, self._signs, self._drawn = size, iter(signs.tolist()), 0

    def _inputs(
        self, *shape: int, dtype: torch.dtype = torch.float64, zero: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor]:
        x, grad_output = self.draw(*shape, dtype=dtype), self.draw(*shape, dtype=dtype)
        if zero:
            x.view(-1)[0] = 0
        # Signs of x and grad_output must not go together.
        if grad_output.numel() > 2:
            grad_output.view(-1)[1::3] *= -1
        return x, grad_output

    def _true_gradient(self, x: torch.Tensor, grad_output: torch.Tensor) -> torch.Tensor:
        true: torch.Tensor = self.exercise.gradient(x.double(), grad_output.double())
        return true.to(x.dtype)

    # Forward

    def forward(self) -> list[Question]:
        """Values, shapes and dtypes of `Cube.apply(x)`."""
        one, _ = self._inputs(9, zero=True)
        cases = [
            ("1-d float64", one, ""),
            ("1-d float64, without requires_grad", self.draw(5), ""),
            ("2-d", self.draw(3, 4), ""),
            ("0-d", self.draw(), ""),
            ("empty", self.draw(0), ""),
            ("transposed x", self.draw(3, 4), "transposed"),
            ("float32", self.draw(6, dtype=torch.float32), ""),
            ("large x", self.draw(4) * 1e20, ""),
        ]
        first, *others = [
            self._forward(words, x, layout, requires_grad="without" not in words)
            for words, x, layout in cases
        ]
        return [replace(first, watch=True), *others]

    def _forward(
        self, words: str, x: torch.Tensor, layout: str = "", *, requires_grad: bool = True
    ) -> Question:
        y = self.exercise.function(x.double()).to(x.dtype)
        return Question(
            words,
            "forward",
            {"x": x, "requires_grad": requires_grad, "layout": layout},
            {"x": x, "y": y},
            {"y": x, "x": x},
        )

    # Backward

    def backward(self) -> list[Question]:
        """The vector-Jacobian product for random grad_output."""
        questions = [
            self._backward("1-d", *self._inputs(9, zero=True)),
            self._backward("2-d", *self._inputs(3, 5)),
            self._backward("another 1-d", *self._inputs(9)),
        ]
        return [replace(question, watch=True) for question in questions]

    def _backward(
        self,
        words: str,
        x: torch.Tensor,
        grad_output: torch.Tensor,
        layouts: tuple[str, str] = ("", ""),
        repeat: int = 1,
    ) -> Question:
        true = self._true_gradient(x, grad_output)
        outputs = [f"grad{i}" for i in range(repeat)]
        return Question(
            words,
            "backward",
            {
                "x": x,
                "grad_output": grad_output,
                "repeat": repeat,
                "change_x": False,
                "layouts": list(layouts),
            },
            # What was changed in place explains wrong numbers, so it is looked at first.
            {"x": x, "grad_output": grad_output, **dict.fromkeys(outputs, true)},
            {**dict.fromkeys(outputs, x), "x": x, "grad_output": grad_output},
            dict.fromkeys(outputs, grad_output),
        )

    # Contract

    def contract(self) -> list[Question]:
        """Shapes, layouts, dtypes, calls that interleave or repeat, larger graphs."""
        x, grad_output = self._inputs(3, 4)
        row = grad_output[:1].expand_as(grad_output).contiguous()
        same = torch.full_like(x, float(self.draw()))
        large, upstream = self._inputs(4)
        return [
            self._backward("0-d x", *self._inputs()),
            self._backward("one element", *self._inputs(1)),
            self._backward("empty x", *self._inputs(0)),
            self._backward("empty 2-d x", *self._inputs(0, 3)),
            self._backward("3-d x", *self._inputs(2, 3, 4)),
            self._backward("transposed x", *self._inputs(3, 4), ("transposed", "")),
            self._backward("transposed grad_output", x, grad_output, ("", "transposed")),
            self._backward("every other element", *self._inputs(7), ("strided", "strided")),
            self._backward("expanded grad_output", x, row, ("", "expanded")),
            self._backward("grad_output as .sum() gives it", x, same, ("", "expanded scalar")),
            self._backward("float32", *self._inputs(7, dtype=torch.float32)),
            self._backward("large x", large * 1e20, upstream),
            self._backward("many elements", *self._inputs(40, 50)),
            self._backward("backward twice on one graph", *self._inputs(5), repeat=2),
            *(self._interleaved(order) for order in ([0, 1], [1, 0])),
            self._inside_a_graph(),
            self._no_grad(),
        ]

    def _interleaved(self, order: list[int]) -> Question:
        x0, grad_output0 = self._inputs(5)
        x1, grad_output1 = self._inputs(5)
        return Question(
            "two forward calls, then their backward calls",
            "interleaved",
            {
                "x0": x0,
                "x1": x1,
                "grad_output0": grad_output0,
                "grad_output1": grad_output1,
                "order": order,
            },
            {
                "grad0": self._true_gradient(x0, grad_output0),
                "grad1": self._true_gradient(x1, grad_output1),
            },
            {"grad0": x0, "grad1": x1},
            {"grad0": grad_output0, "grad1": grad_output1},
        )

    def _inside_a_graph(self) -> Question:
        x, grad_output = self._inputs(6)
        z = 2 * x - 1
        y = self.exercise.function(z)
        true = 2 * self._true_gradient(z, grad_output * (3 + 2 * y))
        return Question(
            "a graph that goes on before and after",
            "inside_a_graph",
            {"x": x, "grad_output": grad_output},
            {"grad": true},
            {"grad": x},
            {"grad": grad_output},
        )

    def _no_grad(self) -> Question:
        x = self.draw(4)
        return Question(
            "under torch.no_grad()", "no_grad", {"x": x}, {"y": self.exercise.function(x)}, {"y": x}
        )

    # The helper

    def helper(self) -> list[Question]:
        """`cube_grad(x)` for several x, and twice for the same x."""
        return [
            replace(self._helper("1-d", self._inputs(9, zero=True)[0]), watch=True),
            self._helper("other values of the same shape", self.draw(9)),
            self._helper("2-d", self.draw(3, 4)),
            self._helper("the same x twice", self.draw(5), repeat=2),
            self._helper("0-d", self.draw()),
            self._helper("empty", self.draw(0)),
            self._helper("float32", self.draw(6, dtype=torch.float32)),
            self._helper("transposed x", self.draw(3, 4), layout="transposed"),
        ]

    def _helper(
        self, words: str, x: torch.Tensor, *, repeat: int = 1, layout: str = ""
    ) -> Question:
        true = self._true_gradient(x, torch.ones_like(x))
        outputs = [f"grad{i}" for i in range(repeat)]
        return Question(
            words,
            "helper",
            {"x": x, "repeat": repeat, "layout": layout},
            {**dict.fromkeys(outputs, true), "x": x},
            {**dict.fromkeys(outputs, x), "x": x},
            dict.fromkeys(outputs, torch.ones_like(x)),
        )

    # What only diagnoses and advice rest on

    def ones(self) -> Question:
        """What .sum() would pass on: a grad_output of ones."""
        x = self.draw(7)
        return self._backward("ones for grad_output", x, torch.ones_like(x))

    def usual_numbers(self) -> Question:
        """Numbers that a test by hand would use."""
        x = torch.tensor([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0], dtype=torch.float64)
        return self._backward("usual numbers", x, self.draw(7))

    def second(self) -> Question:
        """The second derivative, through `create_graph=True`."""
        x, grad_output = self._inputs(6)
        true = self.exercise.second_derivative(x) * grad_output
        return Question(
            "with create_graph=True",
            "second",
            {"x": x, "grad_output": grad_output},
            {"grad": self._true_gradient(x, grad_output), "second": true},
            {"grad": x, "second": x},
            {"grad": grad_output, "second": grad_output},
        )

    def changed_in_place(self) -> Question:
        """X is doubled in place between forward and backward: an error is right."""
        x, grad_output = self._inputs(6)
        return Question(
            "x changed in place between forward and backward",
            "backward",
            {
                "x": x,
                "grad_output": grad_output,
                "repeat": 1,
                "change_x": True,
                "layouts": ["", ""],
            },
            {"grad0": self._true_gradient(x, grad_output)},
            {"grad0": x},
            {"grad0": grad_output},
        )
