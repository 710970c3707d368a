"""The picture, its chart and its words."""

from __future__ import annotations

import json
import math

import pytest
from conftest import ROOT, grader

from grader.records import Curve
from grader.render import chart, picture
from grader.render import curve as render
from grader.service import Source, read_source, warm_judge

X = tuple(i / 10 for i in range(-20, 21))
TRUE = tuple(3 * x * x for x in X)


def curve(yours, numerical=TRUE, trouble=""):
    return Curve("cube", "cube.py", X, TRUE, tuple(yours), tuple(numerical), trouble)


@pytest.fixture(scope="module")
def judge():
    with warm_judge() as process:
        yield process


# ---------------------------------------------------------------- the numbers


def test_the_starter_is_a_third_and_its_forward_is_right(judge):
    seen = judge.curve(read_source(ROOT / "starter/cube.py"), "cube")
    assert seen.yours == pytest.approx([t / 3 for t in seen.true])
    assert seen.numerical == pytest.approx(seen.true, abs=1e-6)
    assert seen.trouble == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("return x**3", "return x**2"), "numerical derivative of your forward is not the true"),
        (("return x**3", "return undefined"), "nothing of yours to draw: forward raised NameError"),
        (("return grad_out * x**2", "return"), "There is no gradient of yours"),
        (("def cube_grad", "def other"), "nothing of yours to draw: the file defines no cube_grad"),
        (("class Cube", "class Cube:"), "nothing of yours to draw: Python can't read this line"),
        (("(x,) = ctx", "import os; os._exit(3)  #"), "backward ended the whole process"),
    ],
)
def test_what_can_not_be_drawn_is_said(judge, change, words):
    text = (ROOT / "starter/cube.py").read_text("utf-8").replace(*change)
    seen = judge.curve(Source("cube.py", text.encode()), "cube")
    assert words in render.words(seen)


# ---------------------------------------------------------------- in words


@pytest.mark.parametrize(
    ("yours", "words"),
    [
        (TRUE, "lies on the true one"),
        ([t / 3 for t in TRUE], "is 0.3333 times the true one everywhere"),
        ([-t for t in TRUE], "is -1 times the true one everywhere"),
        ([0.0 for _ in X], "is 0 times the true one everywhere"),
        ([3 * abs(x) * x for x in X], "at x = -2: yours is -12, the true one 12"),
        ([math.nan for _ in X], "at x = -2: yours is nan, the true one 12"),
    ],
)
def test_a_curve_in_words(yours, words):
    assert words in render.words(curve(yours))


# ---------------------------------------------------------------- in a terminal


def test_a_chart_has_a_marker_of_its_own_for_each_line():
    text = chart.render(curve([t / 3 for t in TRUE]), width=80, encoding="utf-8")
    assert text.splitlines()[0].endswith(". true   o yours   + numerical")
    body = text.partition("\n")[2]
    assert all(body.count(marker) > 3 for marker in ".o+")
    assert max(map(len, text.splitlines())) <= 80
    chart.render(curve([t / 3 for t in TRUE]), width=80, encoding="ascii").encode("ascii")


def test_a_chart_leaves_out_what_is_not_finite():
    chart.render(curve([math.inf, math.nan, *TRUE[2:]]), width=80, encoding="utf-8")


@pytest.mark.parametrize(("columns", "shown"), [(0, False), (50, False), (60, True)])
def test_a_chart_needs_a_terminal_that_is_wide_enough(columns, shown):
    text = render.render(curve(TRUE), columns=columns, encoding="utf-8")
    assert ("o yours" in text) is shown
    assert "lies on the true one" in " ".join(text.split())


def test_control_characters_of_a_student_stay_harmless():
    text = render.render(curve((), (), "a \x1b[2J b"), columns=80, encoding="utf-8")
    assert "\x1b" not in text


# ---------------------------------------------------------------- in a file


def top_of(image, color):
    """The topmost row that has this colour."""
    near = (abs(image[:, :, :3] - color) < 0.02).all(axis=2)
    assert near.any()
    return int(near.any(axis=1).argmax())


def test_the_picture_shows_the_third(tmp_path):
    from matplotlib.colors import to_rgb
    from matplotlib.image import imread

    path = tmp_path / "new folder" / "p.png"
    picture.save(curve([t / 3 for t in TRUE]), path)
    image = imread(path)
    # The key lies between the highest points: look at the outermost columns only.
    edge = image[:, :140]
    true, yours = (top_of(edge, to_rgb(color)) for color in ("#0072B2", "#D55E00"))
    assert true < image.shape[0] / 6 < yours


@pytest.mark.parametrize("yours", [(), TRUE, [math.inf, *TRUE[1:]], [math.nan for _ in X]])
def test_any_curve_can_be_drawn(tmp_path, yours):
    picture.save(curve(yours), tmp_path / "p.svg")
    text = (tmp_path / "p.svg").read_text("utf-8")
    assert text.startswith("<?xml")
    assert "description" in text


# ---------------------------------------------------------------- the commands


def test_plot_says_where_the_picture_lies(kit):
    run = grader("plot", "--out", "mine.svg", cwd=kit)
    assert run.returncode == 0, run.stderr
    assert "is 0.3333 times the true" in run.stdout
    assert run.stdout.endswith("The picture: mine.svg\n")
    assert "<svg" in (kit / "mine.svg").read_text("utf-8")


def test_grade_with_a_plot_keeps_json_clean(kit):
    run = grader("grade", "--json", "--plot", "p.png", cwd=kit)
    assert run.returncode == 1
    assert json.loads(run.stdout)["verdict"] == "fail"
    assert (kit / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_is_png_or_svg(kit):
    run = grader("plot", "--out", "p.jpg", cwd=kit)
    assert run.returncode == 2
    assert "has to end in .png or .svg" in run.stderr


def test_a_terminal_shows_the_chart_and_that_it_is_working(kit):
    pytest.importorskip("termios")
    from terminal import Terminal

    terminal = Terminal("grade", "--plot", "p.png", cwd=kit)
    screen = terminal.until("The picture: p.png")
    assert terminal.ended() == 1
    terminal.close()
    assert screen.startswith("FAIL  2 of 10")
    assert "o yours" in screen
    assert b"checking starter/cube.py" in terminal.raw
    assert "checking" not in screen
