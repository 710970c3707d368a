"""The exercises, by name. To add one: a spec file, a line here, a starter and a solution."""

from grader.exercises.cube import CUBE
from grader.exercises.square import SQUARE
from grader.records import Exercise

EXERCISES: dict[str, Exercise] = {"cube": CUBE, "square": SQUARE}
