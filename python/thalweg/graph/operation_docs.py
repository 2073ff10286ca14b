# SPDX-License-Identifier: Apache-2.0
"""The documentation of functions that are one operation: what goes in and comes out, from the schema, and examples of the most used."""

# What an operation computes, and an example of its function with what that prints.
_SAID = {
    "Cholesky": ("The lower triangular L with L L^H = input, for each matrix in the last two dimensions.",
                 "tw.cholesky([[4.0, 2.0], [2.0, 5.0]])", "[[2. 0.]\n [1. 2.]]"),
    "Cos": ("Cosine.", "tw.cos([0.0])", "[1.]"),
    "Exp": ("The exponential function.", "tw.exp([0.0])", "[1.]"),
    "L2Loss": ("Half the sum of squares.", "tw.nn.l2_loss([3.0, 4.0])", "12.5"),
    "Log": ("The natural logarithm.", "tw.log([1.0])", "[0.]"),
    "MatrixInverse": ("The inverse of each matrix in the last two dimensions.", "tw.matrix_inverse([[2.0, 0.0], [0.0, 4.0]])",
                      "[[0.5  0.  ]\n [0.   0.25]]"),
    "Maximum": ("The larger value, element by element.", "tw.maximum([1, 5], [4, 2])", "[4 5]"),
    "Minimum": ("The smaller value, element by element.", "tw.minimum([1, 5], [4, 2])", "[1 2]"),
    "Neg": ("-x.", "tw.negative([1, -2])", "[-1  2]"),
    "Relu": ("What is negative becomes 0.", "tw.nn.relu([-1.0, 2.0])", "[0. 2.]"),
    "Sigmoid": ("1 / (1 + exp(-x)).", "tw.nn.sigmoid([0.0])", "[0.5]"),
    "Sin": ("Sine.", "tw.sin([0.0])", "[0.]"),
    "Softplus": ("log(1 + exp(features)).", "tw.nn.softplus([-1000.0, 1000.0])", "[   0. 1000.]"),
    "Sqrt": ("The square root.", "tw.sqrt([4.0, 9.0])", "[2. 3.]"),
    "Square": ("x * x.", "tw.square([2.0, -3.0])", "[4. 9.]"),
    "SquaredDifference": ("(x - y) * (x - y).", "tw.squared_difference([1.0], [4.0])", "[9.]"),
    "Tanh": ("Hyperbolic tangent.", "tw.nn.tanh([0.0])", "[0.]"),
}


def _kind(argument):
    """The type of an input or output in words: a name that another one has too is the same type."""
    kind = argument.type_list_attr or argument.type_attr or argument.dtype.name
    several = "list of tensors" if argument.type_list_attr or argument.number_attr else "tensor"
    return f"{'reference to a ' if argument.is_ref else ''}{several} of type {kind}"


def _section(title, rows):
    return [title, "-" * len(title), *rows, ""] if rows else []


def documentation(schema, names=None):
    """What help() shows of the function of an operation. `names`: of its arguments, where they are not the operation's own."""
    names = names or {}
    said, example, shown = _SAID.get(schema.op, (f"The operation {schema.op}.", None, None))
    given = [f"{names.get(i.name, i.name)} : {_kind(i)}" for i in schema.inputs]
    given += [f"{names.get(a.name, a.name)} : " + (f"optional, {a.default!r} unless given" if a.has_default else "required")
              for a in schema.parameters()]
    gives = [f"{o.name} : {_kind(o)}" for o in schema.outputs] or ["Operation"]
    lines = [said, "", *_section("Parameters", [*given, "name : str, optional"]), *_section("Returns", gives)]
    if example:
        lines += _section("Examples", [">>> with tw.Session() as sess:", f"...     print(sess.run({example}))", *shown.split("\n")])
    return "\n".join(lines[:-1])
