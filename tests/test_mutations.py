"""The grader itself under test: variants of the solution, judged by an independent oracle.

Each variant changes one or two places of the solution's syntax tree. Whether it
still behaves like the solution is found by running both side by side in a
process of this test, without anything of the grader. The grader must accept
the equivalent ones and reject the others; and where it names a formula, that
formula must reproduce what the variant computes.
"""

from __future__ import annotations

import ast
import copy
import itertools
import json
import random
import subprocess
import sys

import pytest

from grader.source import Source

pytestmark = pytest.mark.timeout(300)

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
CONSTANTS = (0, 1, 2, 3, 4, -1, 0.5)
RETURNS = (
    "None", "grad_out", "x", "({0}, None)", "(None, {0})", "({0},)", "[{0}]", "({0}, {0})", "({0}).sum()", "({0}).mean()", "({0}).clone()", "-({0})", "({0}) + 1", "({0}) * ({0})", "({0}).float()", "({0}).abs()", "({0}).reshape(-1)", "({0}).unsqueeze(-1)", "({0}).detach()", "2 * ({0})", "({0}) / x.numel()", "({0}).expand(1, *x.shape)", "({0})[..., None]", "({0}).T", "({0}).nan_to_num()", "({0}).clamp(-5, 5)", "float(({0}).sum())", "({0}).tolist()",
)  # fmt: skip
SAVES = (
    "ctx.save_for_backward(x**3)", "ctx.save_for_backward(x**2)", "ctx.save_for_backward(x.clone())", "ctx.save_for_backward(2 * x)", "ctx.save_for_backward(-x)", "ctx.save_for_backward(x.abs())", "ctx.save_for_backward(x.float())", "ctx.save_for_backward(x.detach())", "ctx.save_for_backward(x, x)", "ctx.save_for_backward()", "ctx.save_for_backward((x,))", "ctx.save_for_backward(x, 3)", "ctx.x = x", "pass", "ctx.save_for_backward(x.flatten())", "ctx.save_for_backward(x[:1])", "ctx.save_for_backward(x.round())",
)  # fmt: skip
HELPERS = (
    "x = x.detach().clone()", "x = x.requires_grad_(True)", "x = x.detach().requires_grad_(True)", "x = x.detach().requires_grad_(True).clone()", "x = x.detach().double().requires_grad_(True)", "x = x.detach().float().requires_grad_(True)", "x = x.detach().flatten().requires_grad_(True)", "x = (2 * x.detach()).requires_grad_(True)", "y = x.detach().clone().requires_grad_(True)",
)  # fmt: skip
CALLS = (
    "Cube.apply(x).mean().backward()", "Cube.apply(x).backward()", "Cube.apply(x).sum()", "(Cube.apply(x).sum() * 2).backward()", "Cube.apply(Cube.apply(x)).sum().backward()", "(x**3).sum().backward()", "Cube()(x).sum().backward()", "Cube.forward(None, x).sum().backward()", "Cube.apply(x).prod().backward()", "Cube.apply(x).sum().pow(2).backward()", "Cube.apply(x).backward(torch.ones_like(x))", "Cube.apply(x).detach().sum().backward()", "Cube.apply(x.detach()).sum().backward()", "Cube.apply(x).abs().sum().backward()",
)  # fmt: skip
RESULTS = ("x", "x.grad * 2", "x.grad.clone()", "x.grad.sum()", "x.grad.float()", "(x.grad,)", "None", "x.grad.flatten()", "x.grad.tolist()", "x.grad.detach()", "-x.grad", "x.grad + x", "x.grad[0:]", "3 * x**2", "x.grad / x.numel()", "torch.zeros_like(x)")  # fmt: skip


def single_changes(tree: ast.Module):
    """Yield changed copies of the tree, each with one place changed."""
    for index, node in enumerate(ast.walk(tree)):
        for change in changes_of(node):
            variant = copy.deepcopy(tree)
            target = next(itertools.islice(ast.walk(variant), index, None))
            change(target)
            yield ast.fix_missing_locations(variant)


def changes_of(node):
    if isinstance(node, ast.BinOp):
        for operator in OPERATORS:
            if not isinstance(node.op, operator):
                yield lambda n, o=operator: setattr(n, "op", o())
        for side, other in (("left", "right"), ("right", "left")):
            yield lambda n, s=side, o=other: setattr(n, s, copy.deepcopy(getattr(n, o)))
            # drop a factor: 1 in its place
            yield lambda n, s=side: setattr(n, s, ast.Constant(1))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        for value in CONSTANTS:
            if value != node.value:
                yield lambda n, v=value: setattr(n, "value", v)
    elif isinstance(node, ast.Name) and node.id in ("x", "grad_out") and is_load(node):
        other = "grad_out" if node.id == "x" else "x"
        yield lambda n, o=other: setattr(n, "id", o)
    elif isinstance(node, ast.Return) and node.value is not None:
        text = ast.unparse(node.value)
        for template in RESULTS if text == "x.grad" else RETURNS:
            new = ast.parse(template.format(text), mode="eval").body
            yield lambda n, v=new: setattr(n, "value", v)
    elif isinstance(node, ast.FunctionDef):
        yield from changes_of_function(node)


def changes_of_function(node):
    yield lambda n: n.decorator_list.clear()
    for i, statement in enumerate(node.body):
        text = ast.unparse(statement)
        options = ()
        if "save_for_backward" in text:
            options = SAVES
        elif "requires_grad_" in text:
            options = HELPERS
        elif "sum().backward()" in text:
            options = CALLS
        for option in options:
            new = ast.parse(option).body[0]
            yield lambda n, i=i, s=new: n.body.__setitem__(i, s)
        if not isinstance(statement, ast.Expr | ast.Return) or "backward" in text:
            yield lambda n, i=i: n.body.__setitem__(i, ast.Pass())
        yield lambda n, i=i: n.body.insert(i, copy.deepcopy(n.body[i]))


def is_load(node):
    return isinstance(node.ctx, ast.Load)


def variants(solution: str) -> list[str]:
    """Return at least 300 different files: all single changes, then pairs of changes."""
    tree = ast.parse(solution)
    texts = dict.fromkeys(ast.unparse(v) for v in single_changes(tree))
    singles = list(texts)
    chance = random.Random(7)
    while len(texts) < max(len(singles) + 60, 330):
        text = chance.choice(singles)
        pair = chance.choice(list(single_changes(ast.parse(text))))
        texts.setdefault(ast.unparse(pair))
    return list(texts)


#: Runs variants beside the true function; prints, for each, whether they agree
#: everywhere, and what backward gave for three probes.
ORACLE = """
import json, sys, torch, warnings
warnings.simplefilter("ignore")
torch.set_num_threads(1)

def agree(a, b):
    if type(a) is not torch.Tensor or a.dtype != b.dtype or a.shape != b.shape:
        return False
    rtol = 1e-12 if a.dtype == torch.float64 else 1e-5
    return torch.allclose(a.detach(), b, rtol, rtol)

def run(text, probes):
    names = {"__name__": "cube"}
    exec(compile(text, "cube.py", "exec"), names)
    cube, helper = names["Cube"], names["cube_grad"]
    torch.manual_seed(5)
    right = True
    def gradient(x, g):
        leaf = x.clone().requires_grad_()
        y = cube.apply(leaf)
        assert agree(y, x**3) and torch.equal(leaf.detach(), x)
        kept = g.clone()
        (grad,) = torch.autograd.grad(y, leaf, g, retain_graph=True, allow_unused=True)
        assert torch.equal(g, kept) and torch.equal(leaf.detach(), x)
        return grad
    for shape in ((7,), (3, 4), (), (1,), (0,)):
        x = torch.randn(shape, dtype=torch.float64) * 2
        g = torch.randn(shape, dtype=torch.float64) * 3
        grad = gradient(x, g)
        if len(shape) and len(x) > 1:
            probes.append([x.tolist(), g.tolist(), grad.tolist() if grad is not None and grad.shape == x.shape else None])
        right &= agree(grad, g * 3 * x**2)
    for dtype in (torch.float32, torch.float64):
        x, g = torch.randn(5, dtype=dtype), torch.randn(5, dtype=dtype)
        right &= agree(gradient(x, g), (g.double() * 3 * x.double() ** 2).to(dtype))
        right &= agree(gradient(x[::2], g[:1].expand(3)), (g[:1].double() * 3 * x[::2].double() ** 2).to(dtype))
    a, b = torch.randn(4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    la, lb = a.clone().requires_grad_(), b.clone().requires_grad_()
    ya, yb = cube.apply(la), cube.apply(lb)
    ya.sum().backward(); yb.sum().backward()
    right &= agree(la.grad, 3 * a**2) and agree(lb.grad, 3 * b**2)
    for shape in ((6,), (2, 3), (), (0,)):
        for dtype in (torch.float32, torch.float64):
            x = torch.randn(shape, dtype=dtype)
            kept = x.clone()
            for _ in range(2):
                right &= agree(helper(x), (3 * kept.double() ** 2).to(dtype))
            right &= torch.equal(x.detach(), kept)
    return right

for text in json.load(sys.stdin):
    probes = []
    try:
        right = run(text, probes)
    except BaseException:
        right = False
    print(json.dumps([bool(right), probes]), flush=True)
"""


@pytest.fixture(scope="module")
def verdicts(root, judges):
    """Return (text, agrees with the true function, its probes, the grader's report)."""
    texts = variants((root / "solution" / "cube.py").read_text("utf-8"))
    oracle = subprocess.run(
        [sys.executable, "-c", ORACLE],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in oracle.stdout.splitlines()]
    reports = judges([Source(f"variant {i}", t.encode()) for i, t in enumerate(texts)])
    return list(zip(texts, *zip(*lines, strict=True), reports, strict=True))


def test_there_are_enough_variants_of_both_kinds(verdicts):
    assert len(verdicts) >= 300
    assert 10 <= sum(agrees for _, agrees, _, _ in verdicts) <= 100


def test_what_differs_is_rejected_and_what_agrees_is_accepted(verdicts):
    wrong = [
        f"agrees: {agrees}, verdict: {report.verdict}\n{text}"
        for text, agrees, _, report in verdicts
        if agrees != (report.verdict == "pass")
    ]
    assert not wrong, f"{len(wrong)} of {len(verdicts)}:\n\n" + "\n\n".join(wrong)


def test_a_named_formula_reproduces_the_behaviour(verdicts):
    import torch

    from grader.exercises import EXERCISES

    formulas = EXERCISES["cube"].formulas
    checked = 0
    for text, _, probes, report in verdicts:
        named = [d for d in report.diagnoses if "your backward gives" in d.evidence]
        for diagnosis in named:
            rows = [f for f in formulas if f.mistake.key == diagnosis.mistake]
            tensors = [[torch.tensor(v, dtype=torch.float64) for v in p] for p in probes if p[2]]
            assert any(
                all(
                    torch.allclose(
                        f.gradient(x, g).expand_as(y).double(), y, 1e-5, 1e-5, equal_nan=True
                    )
                    for x, g, y in tensors
                )
                for f in rows
            ), f"{diagnosis.mistake} does not fit:\n{text}"
            checked += bool(tensors)
    assert checked >= 20
