"""The exercise: y = x³, so dL/dx = grad_output · 3x².

A known wrong backward is one row of `FORMULAS`: what it computes and what to
say about it. A row is named only when it reproduces the student's numbers at
every probe; a test holds that no two rows agree there.
"""

from grader.records import Exercise, Formula, Mistake

FORMULAS = (
    # The local derivative is wrong; the chain rule's factor grad_output is there.
    Formula(
        lambda x, g: g * x**2,
        "grad_output · x²",
        Mistake(
            "missing-factor-3",
            "The factor 3 of the derivative is missing",
            "The chain rule multiplies two factors. grad_output: yours is right. The local "
            "derivative d(x³)/dx: yours is x², but the power rule brings the exponent down in "
            "front, so it is 3x². Your gradient is a third of the right one everywhere.",
            "What does the power rule do with the exponent of x³, besides lowering it?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 9 * x**2,
        "grad_output · 9x²",
        Mistake(
            "factor-applied-twice",
            "The factor 3 is applied twice",
            "grad_output is right. The local derivative d(x³)/dx has the exponent in front "
            "once; yours has it twice, so your gradient is three times too large everywhere.",
            "At how many places does your backward multiply by the exponent?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: -g * 3 * x**2,
        "-grad_output · 3x²",
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
        lambda x, g: g * 3 * x**6,
        "grad_output · 3x⁶",
        Mistake(
            "output-used-as-input",
            "The output y is used where x belongs",
            "grad_output is right, but the local derivative is taken at y = x³ instead of at x: "
            "3y² is 3x⁶. The derivative of the function at x needs the input.",
            "Which tensor does forward save: what came in, or what goes out?",
            "context",
        ),
    ),
    Formula(
        lambda x, g: g * x**6,
        "grad_output · x⁶",
        Mistake(
            "output-used-as-input",
            "The output y is used where x belongs",
            "The local derivative is taken at y = x³ instead of at x (y² is x⁶), and the factor "
            "that the power rule brings down is missing as well.",
            "Which tensor does forward save: what came in, or what goes out?",
            "context",
        ),
    ),
    Formula(
        lambda x, g: g * x**3,
        "grad_output · x³",
        Mistake(
            "value-instead-of-derivative",
            "backward multiplies by the value, not the derivative",
            "grad_output is right. The other factor has to be the local derivative d(x³)/dx; "
            "yours is the value x³ itself, as in forward.",
            "How fast does x³ change when x changes a little? Is that x³?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 3 * x**3,
        "grad_output · 3x³",
        Mistake(
            "exponent-not-lowered",
            "The exponent is not lowered by one",
            "grad_output is right, and the exponent stands in front. But the power rule also "
            "lowers the exponent by one: the local derivative d(x³)/dx has x², yours x³.",
            "The power rule does two things with the exponent. Which one is missing?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 3 * x,
        "grad_output · 3x",
        Mistake(
            "exponent-lowered-twice",
            "The exponent is lowered by two",
            "grad_output is right. The power rule lowers the exponent by one: d(x³)/dx has x², "
            "yours has x. It agrees with the right one only at x = 0 and x = 1.",
            "From x³, which power of x is left after one step of the power rule?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 6 * x,
        "grad_output · 6x",
        Mistake(
            "exponent-lowered-twice",
            "This is the second derivative",
            "grad_output is right. The other factor is 6x, the second derivative of x³; the "
            "chain rule asks for the first one.",
            "How often do you differentiate x³ to get the local derivative?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 2 * x,
        "grad_output · 2x",
        Mistake(
            "copied-from-square",
            "This is the backward of Square",
            "grad_output is right. 2x is the derivative of x²: it fits the worked example "
            "Square, not Cube. Each function needs its own local derivative.",
            "Square's backward uses d(x²)/dx. Which derivative does Cube need there?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 2 * x**2,
        "grad_output · 2x²",
        Mistake(
            "wrong-factor",
            "The factor in front is 2, not the exponent",
            "grad_output is right, and so is x². The factor in front is the exponent of x³; "
            "yours is the 2 that is left in the power.",
            "Which number comes down in front: the old exponent or the new one?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 2 * x**3,
        "grad_output · 2x³",
        Mistake(
            "wrong-factor",
            "The factor and the power have changed places",
            "grad_output is right. The power rule puts the old exponent in front and leaves the "
            "lowered one above; yours has them the other way round.",
            "Which number comes down in front: the old exponent or the new one?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * (3 + x**2),
        "grad_output · (3 + x²)",
        Mistake(
            "adds-the-exponent",
            "The factor 3 is added instead of multiplied",
            "grad_output is right. In the local derivative the exponent multiplies x²; yours "
            "adds it.",
            "How are the factor in front and x² joined in the power rule?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * x**2 / 3,
        "grad_output · x²/3",
        Mistake(
            "divides-by-the-exponent",
            "The factor 3 divides instead of multiplying",
            "grad_output is right, and so is x². The power rule multiplies by the exponent; "
            "yours divides by it, so the gradient is a ninth of the right one.",
            "Does differentiating a power multiply or divide by the exponent?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * x**4 / 4,
        "grad_output · x⁴/4",
        Mistake(
            "integrates-instead",
            "This is the integral of x³, not the derivative",
            "grad_output is right. The other factor is the antiderivative x⁴/4; the chain rule "
            "asks for the derivative d(x³)/dx.",
            "Does differentiating raise or lower the exponent?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 3 * x * x.abs(),
        "grad_output · 3x·|x|",
        Mistake(
            "sign-lost-by-abs",
            "The sign is wrong for every negative x",
            "3x·|x| is the derivative of |x|³, not of x³. For x > 0 the two agree; for negative "
            "x the local derivative 3x² is positive and yours is negative.",
            "Is x³ rising or falling at x = -2? Which sign has its slope there?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * (x > 0),
        "grad_output where x > 0, else 0",
        Mistake(
            "gradient-of-another-op",
            "This is the backward of ReLU",
            "grad_output is passed on where x > 0 and stopped elsewhere: that is the gradient "
            "of ReLU. Cube needs its own local derivative, d(x³)/dx, for every x.",
            "What is the slope of x³ at x = 2, and at x = -2?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * (x >= 0),
        "grad_output where x >= 0, else 0",
        Mistake(
            "gradient-of-another-op",
            "This is the backward of ReLU",
            "grad_output is passed on where x >= 0 and stopped elsewhere: that is the gradient "
            "of ReLU. Cube needs its own local derivative, d(x³)/dx, for every x.",
            "What is the slope of x³ at x = 2, and at x = -2?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * x,
        "grad_output · x",
        Mistake(
            "gradient-of-another-op",
            "The other factor is x alone",
            "grad_output is right. The other factor is x, the derivative of x²/2; Cube needs "
            "d(x³)/dx.",
            "Which function has the slope x? And which slope has x³?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 3,
        "grad_output · 3",
        Mistake(
            "constant-local-derivative",
            "The local derivative doesn't depend on x",
            "grad_output is right. The other factor is the constant 3, the slope of the line "
            "3x. The slope of x³ changes with x.",
            "Is x³ equally steep at x = 0 and at x = 2?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 3 * x**4,
        "grad_output · 3x⁴",
        Mistake(
            "power-too-high",
            "The power of x is too high by two",
            "grad_output is right, and the factor 3 as well. The local derivative d(x³)/dx has "
            "x², yours x⁴: something is squared once too often.",
            "Is what you square x itself, or already a power of x?",
            "local derivative",
        ),
    ),
    Formula(
        lambda x, g: g * 3 * x.trunc() ** 2,
        "grad_output · 3·(x without its fraction)²",
        Mistake(
            "integer-cast",
            "x loses its fraction before it is squared",
            "The formula is right, but it is computed with whole numbers: 0.5 becomes 0. Tests "
            "with whole numbers can't see that.",
            "Where does backward turn x into another type, and why?",
            "dtype",
        ),
    ),
    Formula(
        lambda x, g: g * 3 * (x**3) / x,
        "grad_output · 3x³/x",
        Mistake(
            "nan-at-zero",
            "The gradient is nan at x = 0",
            "3y/x equals 3x² on paper, except at x = 0: there it is 0/0, which is nan. The "
            "local derivative of x³ at 0 is simply 0.",
            "What does a computer make of 0 divided by 0?",
            "numerics",
        ),
    ),
    Formula(
        lambda x, g: g * 3 * (x**3) ** (2 / 3),
        "grad_output · 3·y^(2/3)",
        Mistake(
            "nan-for-negative",
            "The gradient is nan for every negative x",
            "On paper the formula is right, but a fractional power or a logarithm of a negative "
            "number is nan in floating point. A whole power of x exists for every x.",
            "Which of your steps is not defined for a negative number?",
            "numerics",
        ),
    ),
    # The chain rule's factor is wrong.
    Formula(
        lambda x, g: 3 * x**2 + 0 * g,
        "3x²",
        Mistake(
            "ignores-grad-out",
            "backward ignores grad_output",
            "Your local derivative d(x³)/dx is right. The chain rule multiplies it by "
            "grad_output, what arrives from the rest of the graph; yours leaves that out. After "
            ".sum() it looks right, because there grad_output is all ones.",
            "What would your backward return if the loss were 5 times as large?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: x**2 + 0 * g,
        "x²",
        Mistake(
            "ignores-grad-out",
            "backward ignores grad_output",
            "Both factors of the chain rule are wrong: grad_output, what arrives from the rest "
            "of the graph, is missing, and the local derivative d(x³)/dx lacks its factor.",
            "What would your backward return if the loss were 5 times as large?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: 2 * x + 0 * g,
        "2x",
        Mistake(
            "ignores-grad-out",
            "backward ignores grad_output",
            "Both factors of the chain rule are wrong: grad_output, what arrives from the rest "
            "of the graph, is missing, and 2x is the local derivative of Square.",
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
            "derivative d(x³)/dx (missing). As it is, Cube claims a slope of 1 everywhere.",
            "By what does the gradient have to be multiplied on its way through Cube?",
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
            "Cube can learn. backward has to return grad_output times the local derivative.",
            "If x grows a little, does x³ stay the same?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: 0 * g + 1,
        "1",
        Mistake(
            "returns-ones",
            "backward returns ones everywhere",
            "Neither factor of the chain rule is there: not grad_output, what arrives from the "
            "rest of the graph, and not the local derivative d(x³)/dx.",
            "Which two factors does the chain rule multiply?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: g**2 * 3 * x**2,
        "grad_output² · 3x²",
        Mistake(
            "grad-out-applied-twice",
            "grad_output is multiplied in twice",
            "Your local derivative d(x³)/dx is right. The chain rule multiplies it by "
            "grad_output once; yours does it twice. After .sum() it looks right, because there "
            "grad_output is all ones.",
            "At how many places does your backward multiply by grad_output?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: g + 3 * x**2,
        "grad_output + 3x²",
        Mistake(
            "adds-grad-out",
            "grad_output is added instead of multiplied",
            "Both factors are there: grad_output, and the local derivative d(x³)/dx. The chain "
            "rule multiplies them; yours adds them.",
            "How does the chain rule join its two factors?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: 3 * x**2 / g,
        "3x² / grad_output",
        Mistake(
            "divides-by-grad-out",
            "The local derivative is divided by grad_output",
            "Both factors are there, but the chain rule multiplies them; yours divides.",
            "How does the chain rule join its two factors?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: 3 * g**2 * x,
        "3 · grad_output² · x",
        Mistake(
            "x-and-grad-out-swapped",
            "x and grad_output have changed places",
            "The square belongs to x, in the local derivative d(x³)/dx; grad_output comes in "
            "once. In yours it is the other way round.",
            "Which of the two tensors is the point at which you differentiate?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: 3 * g**2 + 0 * x,
        "3 · grad_output²",
        Mistake(
            "derivative-at-grad-out",
            "The derivative is taken at grad_output, not at x",
            "The local derivative d(x³)/dx is to be taken at the saved input x. Yours is taken "
            "at grad_output, and x doesn't occur.",
            "Which of the two tensors is the point at which you differentiate?",
            "chain rule",
        ),
    ),
    # Right for each element, but not elementwise.
    Formula(
        lambda x, g: g * 3 * x**2 / max(x.numel(), 1),
        "grad_output · 3x² / (number of elements)",
        Mistake(
            "divides-by-batch-size",
            "The gradient is divided by the number of elements",
            "Both factors of the chain rule are right. A mean is a matter of the loss, and then "
            "already contained in grad_output; backward must not average again.",
            "If the loss takes a mean, where does its 1/n arrive in your backward?",
            "chain rule",
        ),
    ),
    Formula(
        lambda x, g: (g * 3 * x**2).sum() + 0 * x,
        "the sum of grad_output · 3x² over all elements",
        Mistake(
            "sum-instead-of-elementwise",
            "The gradients of all elements are added up",
            "Each y depends on its own x alone, so each x has a gradient of its own. Yours is "
            "their sum, the same for all.",
            "How many numbers has the gradient of a vector of 3 numbers?",
            "arity",
        ),
    ),
    Formula(
        lambda x, g: (g * 3 * x**2).mean() + 0 * x if x.numel() else x,
        "the mean of grad_output · 3x² over all elements",
        Mistake(
            "sum-instead-of-elementwise",
            "The gradients of all elements are averaged",
            "Each y depends on its own x alone, so each x has a gradient of its own. Yours is "
            "their mean, the same for all.",
            "How many numbers has the gradient of a vector of 3 numbers?",
            "arity",
        ),
    ),
    Formula(
        lambda x, g: g.sum() * 3 * x**2,
        "(sum of grad_output) · 3x²",
        Mistake(
            "sums-grad-out",
            "grad_output is summed before it is used",
            "Your local derivative is right. The chain rule takes, for each x, the grad_output "
            "of the same place; yours takes the sum of all.",
            "Which element of grad_output belongs to the second element of x?",
            "chain rule",
        ),
    ),
)

CUBE = Exercise(
    name="cube",
    class_name="Cube",
    helper_name="cube_grad",
    formula="x³",
    derivative="d(x³)/dx",
    function=lambda x: x * x * x,
    gradient=lambda x, grad_output: grad_output * (3 * x * x),
    second_derivative=lambda x: 6 * x,
    formulas=FORMULAS,
    try_next="Try a Function of two inputs next, such as x³·z: how many gradients does its "
    "backward return?",
)
