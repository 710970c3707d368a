"""What is said of each structural mistake; the formulas stand with their exercise.

One row a mistake: key, title (under 60 characters), why it is one, a question
that leads on, and the family whose concept stands behind it. `{c}`, `{h}`,
`{f}` and `{d}` are the exercise's class, helper, formula and derivative.
"""

from __future__ import annotations

from grader.records import Mistake

#: Second and last rung of each ladder: the concept, and the shape of what is right.
FAMILIES: dict[str, tuple[str, str]] = {
    "local derivative": (
        "The power rule: the exponent comes down in front as a factor, and the power that is "
        "left is one lower.",
        "The shape: grad_output, times a number, times a power of the saved x.",
    ),
    "chain rule": (
        "The chain rule: dL/dx is dL/dy, which arrives as grad_output, times the local "
        "derivative dy/dx.",
        "The shape: return (what arrives) * (local derivative at the saved x).",
    ),
    "arity": (
        "backward returns one gradient for each input of forward (ctx doesn't count), each "
        "with the shape of its input; None where no gradient is needed.",
        "The shape: one tensor, elementwise, as large as x.",
    ),
    "context": (
        "forward hands tensors to backward through ctx.save_for_backward(...), all in one "
        "call; backward gets them back as a tuple, ctx.saved_tensors, in the same order.",
        "The shape: save the tensor that the derivative needs; unpack the tuple first thing.",
    ),
    "calling": (
        "A Function is used through its class: {c}.apply(x). apply makes the ctx, calls "
        "forward, and puts backward into the graph.",
        "The shape: two static methods, forward(ctx, x) and backward(ctx, grad_out); one call "
        "of {c}.apply.",
    ),
    "in-place": (
        "Tensors that you are handed, x, the saved tensors and grad_output, belong to others. "
        "A method whose name ends in _ and operators such as *= change them for everyone.",
        "The shape: compute a new tensor and return that.",
    ),
    "dtype": (
        "The gradient has the dtype of x. Half-way conversions lose digits, which float64 "
        "checks notice.",
        "The shape: arithmetic on x and grad_output as they come, with no conversion.",
    ),
    "numerics": (
        "A formula can be right on paper and fail in floating point: 0/0, a logarithm or a "
        "fractional power of a negative number is nan.",
        "The shape: only products and whole powers of x.",
    ),
    "helper": (
        "A gradient is collected on a leaf that requires grad: make one from x, run {c}.apply "
        "and .sum(), go backward once, and take the leaf's gradient.",
        "The shape: a leaf; a scalar loss from {c}.apply; one backward pass; one tensor back.",
    ),
    "forward": (
        "forward computes the value itself, elementwise: {f}.",
        "The shape: one expression in x, as large as x, with the dtype of x.",
    ),
    "torch": (
        "Autograd follows torch operations on tensors. Numbers that leave torch, or a tensor "
        "that is cut off from its graph, are constants to it.",
        "The shape: torch operations on the tensors from start to end.",
    ),
    "file": (
        "The grader imports your file like any module: it has to be plain Python in UTF-8 that "
        "loads without help.",
        "The shape: import torch, class {c}, def {h}, and nothing that runs by itself.",
    ),
    "conduct": (
        "Only the numbers that {c} and {h} compute are judged, in another process; what else "
        "the file does can't help it.",
        "The shape: import torch, class {c}, def {h}, and nothing that runs by itself.",
    ),
}


def _rows(family: str, *rows: tuple[str, str, str, str]) -> dict[str, Mistake]:
    return {key: Mistake(key, title, why, question, family) for key, title, why, question in rows}


# fmt: off
CATALOGUE: dict[str, Mistake] = {
    **_rows(
        "file",
        ("unreadable-file", "The file can't be read", "{detail}", "Is the path right?"),
        ("empty-file", "The file is empty", "{detail}", "Did the editor save the file?"),
        ("file-too-large", "The file is too large", "{detail}", "Is this the right file?"),
        ("wrong-encoding", "The file is not saved as UTF-8", "{detail}",
         "Which encoding does your editor show for this file?"),
        ("notebook-as-py", "This is a notebook, not a Python file", "{detail}",
         "Which cell holds the class?"),
        ("merge-conflict", "Marks of a merge conflict are left", "{detail}",
         "Which of the two versions do you want to keep?"),
        ("indentation-error", "Python can't read the indentation", "{detail}",
         "Which def or class does this line belong to?"),
        ("smart-quotes", "Typographic quotes in the code", "{detail}",
         "Was this line pasted from a document or a chat?"),
        ("notebook-magic", "A notebook command in a Python file", "{detail}",
         "What is this line for, outside a notebook?"),
        ("syntax-error", "Python can't read the file", "{detail}",
         "Does every bracket, quote and colon near this place have its partner?"),
        ("missing-import", "A module is used but not imported",
         "The name {detail} is not known here: Python looks for it in this file and finds no "
         "import of it.", "Which line at the top of the file should bring this name in?"),
        ("missing-package", "A package that is not installed here",
         "The file imports {detail}, which this exercise neither needs nor installs, so "
         "nothing else of it could run.", "What is this import used for?"),
        ("imports-itself", "The file imports itself",
         "The file is called {detail} itself, so this import finds the half-loaded file, not "
         "another one.", "Where did you expect {c} to come from?"),
        ("input-at-import", "The file waits for the keyboard",
         "input() asks a person, and while a file is imported there is none.",
         "Which value could stand there in place of the question?"),
        ("missing-name", "{detail} is not defined",
         "The exercise asks for {c} and {h}; the file has no {detail}, so it can't be checked.",
         "Was it deleted, or is it indented into something else?"),
        ("wrong-name", "{c} or {h} has another name",
         "The grader looks for the exact name, capitals included. The file defines {detail}.",
         "Which names does the exercise ask for?"),
        ("cube-is-not-a-class", "{c} is no longer the class",
         "At the end of the file the name {c} stands for {detail}, so {c}.apply doesn't exist.",
         "Where is the name {c} given a second meaning?"),
        ("error-at-import", "The file stops with an error on import",
         "Code on the module level raised {detail}, so nothing of the file could be checked.",
         "What does this line need that isn't there yet?"),
        ("unknown-name", "A name that nothing defines",
         "Python doesn't know the name {detail} at this place.",
         "Is it spelt as where it was defined, and visible here?"),
    ),
    **_rows(
        "calling",
        ("not-a-function-subclass", "{c} is not a torch.autograd.Function",
         "apply, ctx and the place in the graph come from torch.autograd.Function; {c} inherits "
         "from {detail} instead.", "Which base class does Square have?"),
        ("instance-call", "{c} is called as an instance",
         "{c}()(x) makes an object and calls it. A Function has no state of its own and is used "
         "through the class. (Torch's message about non-static methods points elsewhere.)",
         "Which method of the class runs forward and puts backward into the graph?"),
        ("calls-forward-directly", "forward is called directly, so backward never runs",
         "Calling {c}.forward yourself is an ordinary function call: autograd differentiates "
         "the operations inside and never hears of your backward.",
         "Which method of the class runs forward and puts backward into the graph?"),
        ("missing-staticmethod", "forward and backward are no static methods",
         "Both take ctx, not self, and apply calls them through the class: @staticmethod says "
         "so. The style with self and {c}()(x) was removed from PyTorch long ago.",
         "What stands above def forward in Square?"),
        ("missing-ctx", "ctx is missing from the parameters",
         "apply passes the context first: forward(ctx, x) and backward(ctx, grad_out). Without "
         "ctx there is also no way to save x.", "What is the first thing that apply passes?"),
        ("missing-grad-out-parameter", "backward doesn't take grad_output",
         "backward is called with ctx and one incoming gradient for each output of forward.",
         "What arrives from the rest of the graph, and where do you receive it?"),
        ("extra-parameter", "A method takes more arguments than it gets",
         "apply passes forward exactly what it was given itself, after ctx; backward gets ctx "
         "and one gradient for each output.", "Who should fill in the additional parameter?"),
        ("parameters-swapped", "The parameters stand in the wrong order",
         "ctx comes first, in forward as in backward; the names don't matter, the order does.",
         "What is the first thing that apply passes?"),
        ("missing-backward", "{c} has no backward",
         "autograd looks for a method called exactly backward. {detail}",
         "Which method do you want autograd to call, and how is it spelt?"),
        ("missing-forward", "{c} has no forward",
         "apply looks for a method called exactly forward. {detail}",
         "Which method do you want apply to call, and how is it spelt?"),
        ("self-instead-of-ctx", "self is used in a static method",
         "A static method gets no self. The object that carries the saved tensors is its first "
         "parameter, called ctx here.", "What is the first parameter of this method called?"),
        ("mixed-styles", "Two styles of forward are mixed",
         "With setup_context, forward takes only x and setup_context does the saving; without "
         "it, forward takes ctx and saves. Yours has parts of both.",
         "Which of the two styles do you want to keep?"),
        ("result-not-from-cube", "The result doesn't come from a Function of yours",
         "{c}.apply(x) gives a tensor whose history is made of torch's own operations, so your "
         "backward never runs.", "Where does forward's result get its gradient from?"),
        ("not-implemented", "A part is still to be written",
         "The code still raises NotImplementedError at this place.",
         "What should stand in place of this line?"),
    ),
    **_rows(
        "context",
        ("saved-tensors-not-unpacked", "ctx.saved_tensors is a tuple, used as a tensor",
         "ctx.saved_tensors is a tuple, even when one tensor was saved. Arithmetic on it fails, "
         "or means something else.", "How do you take the one element out of a tuple?"),
        ("saved-tensors-called", "ctx.saved_tensors is called like a function",
         "ctx.saved_tensors is an attribute that holds a tuple; it has no parentheses.",
         "How do you take the one element out of a tuple?"),
        ("nothing-saved", "Nothing was saved for backward",
         "backward unpacks ctx.saved_tensors, but forward saved nothing there.",
         "What does backward need to know, and who can hand it over?"),
        ("save-for-backward-called-twice", "save_for_backward is called twice",
         "The second call replaces what the first one saved; backward gets only the last.",
         "How can one call save everything?"),
        ("saves-non-tensor", "save_for_backward was given something else",
         "save_for_backward takes tensors, as separate arguments. Plain numbers may be kept as "
         "an attribute of ctx; a tuple or list must be taken apart.",
         "Which of the things that you save is no tensor?"),
        ("saved-tensors-count-mismatch", "More is unpacked than was saved, or less",
         "{detail}", "What does forward save, and what does backward unpack?"),
        ("saved-tensors-order", "Saved tensors come back in another order",
         "ctx.saved_tensors has the order of save_for_backward; backward gives them other "
         "names.", "In which order does forward save, and backward unpack?"),
        ("missing-ctx-attribute", "backward asks ctx for what forward didn't set",
         "ctx has no attribute {detail}: forward didn't set it, or under another name.",
         "Where does forward put what backward looks for?"),
        ("state-on-class", "State is kept outside ctx, shared by all calls",
         "What forward leaves {detail} is overwritten by the next forward. After two calls, "
         "both backward passes use the second x. ctx exists once for each call.",
         "After two forward calls, which x does the first backward see?"),
        ("ctx-attribute-instead-of-save_for_backward", "A tensor kept as an attribute of ctx",
         "The numbers are right. But ctx.name = tensor goes round the check that catches a "
         "change in place between forward and backward, and can keep memory alive. For plain "
         "numbers an attribute is fine.", "Which call saves a tensor with that check?"),
        ("deprecated-saved_variables", "ctx.saved_variables is an old name",
         "It still works here and warns; the name is ctx.saved_tensors.",
         "What is the present name?"),
        ("saves-intermediate", "An intermediate result is saved, not x",
         "First derivatives are right. But what is neither an input nor an output of forward "
         "is a constant to autograd, so the second derivative comes out wrong.",
         "Of what would a second derivative have to know that it depends on x?"),
    ),
    **_rows(
        "arity",
        ("returns-none", "backward returns None",
         "None means: no gradient for this input. Your backward {detail}.",
         "What does a Python function without return give back?"),
        ("wrong-number-of-gradients", "backward returns the wrong number of gradients",
         "forward has one input besides ctx, so backward returns one gradient; ctx has none. "
         "{detail}", "How many inputs does forward have, ctx not counted?"),
        ("extra-forward-argument", "forward needs more than x",
         "{c}.apply(x) has to work with x alone. {detail}",
         "What could forward know by itself, without being told?"),
        ("sum-instead-of-elementwise", "A sum where each element has a value of its own",
         "{detail} Each y depends on its own x alone; the sum belongs to the loss.",
         "How many numbers should come out for a vector of 3 numbers?"),
        ("broadcast-summed-silently", "A larger gradient is summed up silently",
         "{detail} Autograd adds it up along the surplus dimensions without a word, so each "
         "number is a sum over other elements. One element alone can't show that.",
         "Which shapes have the two factors, and what does broadcasting make of them?"),
        ("wrong-shape", "The gradient has another shape than x",
         "{detail} The gradient of x has one number for each element of x, in the same places.",
         "Which step changes the shape?"),
        ("returns-list", "backward returns something that is no tensor",
         "backward returns a tensor, or a tuple of one for each input. Yours returns {detail}.",
         "What type does the last line of backward give back?"),
        ("trailing-none", "backward returns one value more than needed",
         "The numbers are right. Torch ignores a None after the last gradient; for one input "
         "one gradient is enough.", "How many inputs does forward have, ctx not counted?"),
    ),
    **_rows(
        "in-place",
        ("mutates-grad-out", "backward changes grad_output in place",
         "grad_output is lent to you; other parts of the graph may still need it. After .sum() "
         "it can't even be written to, because all its elements share one place in memory.",
         "Which operation on this line writes into a tensor instead of making a new one?"),
        ("mutates-input", "forward changes x in place",
         "x belongs to the caller, who finds other numbers in it afterwards; and backward would "
         "see the changed ones.",
         "Which operation on this line writes into a tensor instead of making a new one?"),
        ("mutates-saved-tensor", "backward changes a saved tensor in place",
         "A saved tensor is not a copy: it is the caller's x. Changing it changes x for "
         "everyone, and the next backward starts from the wrong numbers.",
         "Which operation on this line writes into a tensor instead of making a new one?"),
        ("touches-the-callers-tensor", "{h} leaves its marks on the caller's x",
         "The numbers are right. But x requires grad afterwards, or carries a .grad, which the "
         "caller didn't ask for.", "On which tensor could {h} work instead?"),
    ),
    **_rows(
        "dtype",
        ("float32-cast", "float64 is turned into float32 on the way",
         "{detail} About nine of sixteen digits are lost; gradcheck needs them.",
         "Which step changes the dtype?"),
        ("integer-cast", "Numbers are turned into whole numbers",
         "Whole numbers have no fractions and can't require a gradient. {detail}",
         "Where is the type of the tensor changed, and why?"),
        ("wrong-dtype", "The dtype of x is not kept",
         "{detail} What goes in as float32 comes out as float32, and float64 as float64.",
         "Which step changes the dtype?"),
        ("depends-on-dtype", "Right for one dtype, wrong for another",
         "The same formula has to hold for float32 and float64. {detail}",
         "Which number or tensor in your code has a dtype of its own?"),
    ),
    **_rows(
        "numerics",
        ("inexact-gradient", "The gradient is close, but not exact",
         "The numbers differ from the closed form in a late digit, as a numerical estimate "
         "does. The exercise asks for the exact derivative.",
         "Does your backward compute a derivative, or estimate one?"),
        ("fails-for-large-x", "Wrong for large x only",
         "For ordinary x the gradient is right; for x of about 1e20 it is not.",
         "Which step can't cope with a large number?"),
    ),
    **_rows(
        "torch",
        ("leaves-torch-for-numpy", "The computation leaves torch for numpy",
         "numpy knows neither autograd nor devices, and turns a 0-d tensor into a plain number. "
         "Every step has a torch operation of the same name.",
         "Which torch operation does the same?"),
        ("graph-broken-by-torch-tensor", "torch.tensor(...) cuts the graph",
         "torch.tensor copies plain numbers into a new tensor without a history, so nothing "
         "connects the loss to x.", "What does the new tensor know about where it came from?"),
        ("graph-cut", "The graph is cut before the loss",
         "{detail} After that nothing connects the loss to x, and no gradient can flow.",
         "At which step does the result stop knowing about x?"),
        ("grad-mode-off", "Gradients are switched off for the whole program",
         "The file turns grad mode off and leaves it off, so no graph is recorded.",
         "Where is grad mode changed, and for how long?"),
        ("assumes-contiguous-grad", "The layout of grad_output in memory is taken for granted",
         "The engine may hand over a gradient that is transposed, expanded or has gaps. Reading "
         "its memory directly gives other numbers; arithmetic doesn't care.",
         "Which step looks at the memory instead of the elements?"),
        ("depends-on-shape", "Right for some shapes, wrong for others",
         "{c} works elementwise, so the number of dimensions must not matter. {detail}",
         "Which step takes the number of dimensions for granted?"),
        ("not-twice-differentiable", "No second derivative, and it says so",
         "The gradient is right. @once_differentiable is an honest way to refuse second "
         "derivatives; a plain formula gives them for free.",
         "What would be needed for a second derivative?"),
        ("detached-backward", "The second derivative is lost",
         "The gradient is right. But backward uses {detail}, which hides x from autograd, so a "
         "second derivative comes out wrong or not at all.",
         "What does autograd still know about x there?"),
    ),
    **_rows(
        "helper",
        ("no-requires-grad", "No graph: x doesn't require grad",
         "autograd records only what depends on a tensor that requires grad; here nothing "
         "does.", "Which tensor has to require grad, and from when on?"),
        ("requires-grad-on-output", "requires_grad is set on the output",
         "Setting it on the loss silences the error, but doesn't connect the loss with x: the "
         "graph is recorded while forward runs.",
         "Which tensor has to require grad, and from when on?"),
        ("grad-of-non-leaf", "The .grad of a tensor that is no leaf",
         "Only a leaf, a tensor that no operation made, collects .grad. Here the name x stands "
         "for the result of an operation, so its .grad stays None.",
         "Which tensor was the leaf, and does a name still point to it?"),
        ("grad-of-original", "The gradient is looked for on the wrong tensor",
         "The gradient is collected on the leaf that went through {c}.apply; {h} reads .grad of "
         "another tensor.", "On which tensor did you call {c}.apply?"),
        ("returns-backward-result", "{h} returns the result of .backward()",
         ".backward() returns None; it leaves the gradient in the leaf's .grad.",
         "Where does .backward() put what it computes?"),
        ("helper-returns-none", "{h} returns None",
         "{h} has to return the gradient, a tensor as large as x.",
         "What does {h} give back on its last line?"),
        ("returns-tuple", "{h} returns a tuple, not a tensor",
         "torch.autograd.grad returns a tuple with one gradient for each input, even for one.",
         "How do you take the one element out of a tuple?"),
        ("returns-other-type", "{h} returns something that is no tensor",
         "{h} has to return the gradient as a tensor as large as x. Yours returns {detail}.",
         "What type does the last line of {h} give back?"),
        ("returns-value", "{h} returns the value, not the gradient",
         "What comes back is {f}, or the loss; the gradient says how it changes with x.",
         "Which of your tensors holds the gradient?"),
        ("backward-on-vector", "backward() on a tensor of several elements",
         "Without an argument, backward() starts from one number, the loss. The exercise asks "
         "for the gradient of the sum.", "Of which single number do you want the gradient?"),
        ("accumulates-gradient", "Gradients add up from call to call",
         "Every backward pass adds to .grad; it doesn't replace it. {detail}",
         "What is in .grad before your backward pass begins?"),
        ("backward-twice", "backward runs twice through one graph",
         "The first backward pass frees the saved tensors, so a second one finds nothing.",
         "Which of the two calls do you need?"),
        ("mean-instead-of-sum", "The mean is differentiated, not the sum",
         "{h} has to give the gradient of {c}.apply(x).sum(). The mean divides every number by "
         "the number of elements.", "What is the loss in the exercise's text?"),
        ("compensates-in-helper", "{h} repairs what {c} gets wrong",
         "{h} gives the right numbers, but {c}.backward is still wrong for everyone else who "
         "uses it.", "Where does the correction belong: in {h}, or where the gradient is made?"),
        ("helper-bypasses-cube", "{h} doesn't go through {c}",
         "{h} gets its gradient some other way, so it wouldn't notice a wrong backward. The "
         "exercise asks for the gradient of {c}.apply(x).sum().",
         "Which call makes {c} part of the computation?"),
        ("stale-cache", "An earlier answer is returned for another x",
         "A second call with other numbers gave the first call's gradient back.",
         "What does your code remember, and when is that still true?"),
        ("func-grad-needs-setup_context", "torch.func needs the style with setup_context",
         "torch.func.grad works only with a Function that has setup_context; forward(ctx, x) "
         "is for .backward() and torch.autograd.grad.",
         "Which way of getting the gradient goes with forward(ctx, x)?"),
        ("infinite-recursion", "A function calls itself without end",
         "The function calls itself before it has done anything, until Python gives up.",
         "Which function did you mean to call here?"),
        ("helper-scaled", "{h} returns a multiple of the gradient",
         "{c} is right, but what {h} returns is {detail} times the gradient.",
         "What happens to the gradient between the backward pass and return?"),
    ),
    **_rows(
        "forward",
        ("wrong-forward", "forward doesn't compute {f}",
         "{detail} backward may fit your forward (then gradcheck passes), but the exercise asks "
         "for {f}.", "What should come out for x = 2?"),
        ("xor-instead-of-power", "^ is not a power in Python",
         "In Python ^ is the bitwise exclusive or; a power is written with two stars.",
         "How does Python write a power?"),
        ("forward-not-a-tensor", "forward returns something that is no tensor",
         "forward has to return one tensor as large as x. Yours returns {detail}.",
         "What type does the last line of forward give back?"),
        ("constant-output", "forward's result has no history",
         "{c}.apply(x) doesn't require grad although x does, so backward never runs.",
         "Where is the result cut off from x?"),
    ),
    **_rows(
        "conduct",
        ("infinite-loop", "The code doesn't come to an end",
         "{detail}. Somewhere a loop never meets its end.",
         "Under which condition does the loop stop, and does it ever come true?"),
        ("huge-allocation", "The code asks for far too much memory",
         "{detail}. The exercise needs a few numbers at a time.",
         "How large is the tensor that you create, in elements?"),
        ("output-flood", "The code prints without end",
         "The file printed more than 64 MiB; it was stopped there.",
         "Which line prints in a loop?"),
        ("early-exit", "The code ends the process",
         "{detail}. Checks that had not run by then count as not passed.",
         "Which line ends the program, and what is it for?"),
        ("crash", "The code crashes Python itself",
         "{detail}. That is no Python error, but a fault in native code.",
         "Which line works on memory directly, or recurses very deeply?"),
        ("base-exception", "The code raises {detail}",
         "{detail} is meant for ending a program, not for reporting a mistake.",
         "What should happen here instead?"),
        ("hostile-exception", "The error's text is made to deceive",
         "The code raised {detail} with control characters or pages of text in it; they are "
         "shown escaped and cut.", "What should {h} return instead of raising?"),
        ("fake-report", "The file writes a result of its own",
         "The file prints or writes something that looks like a verdict. Only the numbers that "
         "{c} and {h} compute are judged.", "What does this line do for the exercise?"),
        ("patches-checker", "The file replaces parts of torch or Python",
         "{detail} was replaced. The numbers are judged in another process, which doesn't see "
         "that.", "What does this line do for the exercise?"),
        ("lying-tensor", "A tensor of a class of its own comes back",
         "The result is a {detail}, not a plain tensor. Such a class can answer as it likes, so "
         "only plain tensors are accepted.", "What would the plain tensor be?"),
        ("lying-object", "An object that is no tensor comes back",
         "{h} returned an object of the class {detail}, which is no tensor, whatever it claims "
         "to equal.", "What should {h} return?"),
        ("poisons-reference", "The result is nan everywhere",
         "{h} returned nan for every x. nan is equal to nothing, not even to itself.",
         "What should {h} return for x = 2?"),
        ("steals-reference", "The file looks for the solution",
         "It searched the folders around it ({detail}). No solution can be read from here.",
         "What is the derivative of {f}, worked out by hand?"),
        ("hard-coded-reference", "Right for a few chosen numbers only",
         "At whole and half numbers the gradient is right, elsewhere it is not. The checks use "
         "numbers drawn at random.", "Which formula gives the answer for every x?"),
        ("detects-checker", "The file looks at who is calling",
         "It inspects the call stack. {c} has to give the same numbers whoever asks.",
         "What does this line do for the exercise?"),
        ("leaves-process", "The file starts other processes",
         "It started a process ({detail}); all were ended with it.",
         "What does this line do for the exercise?"),
        ("leaves-thread", "The file leaves a thread running",
         "A thread was still alive at the end; it was ended with the process. A program that "
         "waits for it would never end.", "What does the thread do for the exercise?"),
        ("deletes-files", "The file deletes or renames files",
         "It tried to delete or rename files ({detail}). It ran in a folder of its own.",
         "What does this line do for the exercise?"),
        ("writes-files", "The file writes outside its folder",
         "It tried to write a file ({detail}); that was refused or thrown away.",
         "What does this line do for the exercise?"),
        ("opens-socket", "The file opens a network connection",
         "It tried to use the network ({detail}). The exercise needs none.",
         "What does this line do for the exercise?"),
        ("kills-parent", "The file tries to end other processes",
         "It signals other processes ({detail}). The report comes from a process that it can't "
         "reach.", "What does this line do for the exercise?"),
        ("global-state", "The file changes settings for the whole program",
         "It changed {detail}. Everything that is imported later is affected.",
         "Who else works with this setting?"),
    ),
    **_rows(
        "chain rule",
        ("non-deterministic", "The same question gets different answers",
         "Asked twice for the same x and grad_output, backward gave different numbers.",
         "Which step is random?"),
        ("depends-on-earlier-calls", "The answer depends on earlier calls",
         "Asked again for the same x and grad_output, backward gave other numbers than the first "
         "time.", "What does your code remember from one call to the next?"),
        ("wrong-in-a-larger-graph", "Wrong when {c} is a part of a larger graph",
         "Alone, {c} is right; between other operations it is not.",
         "What does your backward take for granted about what comes before or after?"),
        ("fitted-formula", "The gradient follows another formula",
         "{detail}", "Which factor of the chain rule differs: grad_output, or {d}?"),
        ("unnamed", "The numbers are wrong, and have no name",
         "The numbers differ from the right ones, and no known mistake reproduces them.",
         "What do you get by hand for the x and grad_output shown here?"),
        ("unnamed-error", "An error without a name",
         "{detail}", "What is the value of each name on this line at this moment?"),
    ),
}
# fmt: on
