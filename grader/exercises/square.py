"""The worked example of the notebook, gradable too: y = x²."""

from grader.records import Exercise

SQUARE = Exercise(
    name="square",
    class_name="Square",
    helper_name="square_grad",
    formula="x²",
    derivative="d(x²)/dx",
    function=lambda x: x * x,
    gradient=lambda x, grad_output: grad_output * 2 * x,
    second_derivative=lambda x: 0 * x + 2,
    formulas=(),
    try_next="",
)
