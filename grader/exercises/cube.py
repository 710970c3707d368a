"""The exercise: y = x³."""

from grader.records import Exercise

CUBE = Exercise(
    name="cube",
    class_name="Cube",
    helper_name="cube_grad",
    formula="x³",
    function=lambda x: x * x * x,
    gradient=lambda x, grad_output: grad_output * (3 * x * x),
    second_derivative=lambda x: 6 * x,
    mistakes=(),
    try_next="",
)
