"""The worked example of the notebook, gradable too: y = x², so dL/dx = grad_output · 2x."""

from grader.records import Exercise, Formula, Mistake

FORMULAS = (
    Formula(
        lambda x, g: g * x,
        "grad_output · x",
        Mistake(
            "missing-factor-2",
            "The factor 2 of the derivative is missing",
            "The chain rule multiplies two factors. grad_output: yours is right. The local "
            "derivative d(x²)/dx: yours is x, but the power rule brings the exponent down in "
            "front. Your gradient is half of the right one everywhere.",
            "What does the power rule do with the exponent of x², besides lowering it?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * x**2,
        "grad_output · x²",
        Mistake(
            "value-instead-of-derivative",
            "backward multiplies by the value, not the derivative",
            "grad_output is right. The other factor has to be the local derivative d(x²)/dx; "
            "yours is the value x² itself, as in forward.",
            "How fast does x² change when x changes a little? Is that x²?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 2 * x**2,
        "grad_output · 2x²",
        Mistake(
            "exponent-not-lowered",
            "The exponent is not lowered by one",
            "grad_output is right, and the exponent stands in front. But the power rule also "
            "lowers the exponent by one.",
            "The power rule does two things with the exponent. Which one is missing?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 3 * x**2,
        "grad_output · 3x²",
        Mistake(
            "gradient-of-another-op",
            "This is the backward of Cube",
            "grad_output is right. The other factor is the derivative of x³; each function "
            "needs its own local derivative.",
            "Which function do you differentiate here?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: -g * 2 * x,
        "-grad_output · 2x",
        Mistake(
            "wrong-sign",
            "The sign of the gradient is turned round",
            "Every number has the right size and the wrong sign. backward returns the gradient "
            "itself; the minus of gradient descent belongs to the optimizer.",
            "If L grows when x grows, which sign must dL/dx have?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 2 * x.abs(),
        "grad_output · 2|x|",
        Mistake(
            "sign-lost-by-abs",
            "The sign is wrong for every negative x",
            "grad_output is right. The slope of x² is negative for negative x; yours has lost "
            "the sign of x.",
            "Is x² rising or falling at x = -2?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: 2 * x + 0 * g,
        "2x",
        Mistake(
            "ignores-grad-out",
            "backward ignores grad_output",
            "Your local derivative d(x²)/dx is right. The chain rule multiplies it by "
            "grad_output, what arrives from the rest of the graph; yours leaves that out.",
            "What would your backward return if the loss were 5 times as large?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: g,
        "grad_output",
        Mistake(
            "returns-grad-out-unchanged",
            "backward passes grad_output through unchanged",
            "The chain rule multiplies two factors: grad_output (there) and the local "
            "derivative d(x²)/dx (missing).",
            "By what does the gradient have to be multiplied on its way through Square?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: 0 * g,
        "0",
        Mistake(
            "returns-zero",
            "backward returns zero everywhere",
            "A gradient of zero says that x has no influence on the loss, so nothing before "
            "Square can learn.",
            "If x grows a little, does x² stay the same?",
            "chain rule",
        ),
    ),
)

SQUARE = Exercise(
    name="square",
    class_name="Square",
    helper_name="square_grad",
    formula="x²",
    derivative="d(x²)/dx",
    function=lambda x: x * x,
    gradient=lambda x, grad_output: grad_output * 2 * x,
    second_derivative=lambda x: 0 * x + 2,
    formulas=FORMULAS,
    try_next="Cube is next: make grade.",
)
