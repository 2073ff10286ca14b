# SPDX-License-Identifier: Apache-2.0
"""The documentation of functions that are one operation: what goes in and comes out, from the schema, and examples of the most used."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.graph.schemas import Schema

# What an operation computes, and an example of its function with what that prints.
_SAID = {
    "ArgMin": ("The index of the smallest value along a dimension.", "tw.arg_min([3, 1, 2], 0)", "1"),
    "Cholesky": ("The lower triangular L with L L^H = input, for each matrix in the last two dimensions.",
                 "tw.cholesky([[4.0, 2.0], [2.0, 5.0]])", "[[2. 0.]\n [1. 2.]]"),
    "Cos": ("Cosine.", "tw.cos([0.0])", "[1.]"),
    "Cross": ("The cross product of vectors of 3 elements in the last dimension.", "tw.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])", "[0. 0. 1.]"),
    "DecodeJpeg": ("The pixels of a JPEG file, [height, width, channels]; `channels` 0 takes those of the file.",
                   "tw.shape(tw.image.decode_jpeg(tw.image.encode_jpeg(tw.zeros([2, 3, 1], tw.uint8))))", "[2 3 1]"),
    "DecodePng": ("The pixels of a PNG file, [height, width, channels]; `channels` 0 takes those of the file.",
                  "tw.shape(tw.image.decode_png(tw.image.encode_png(tw.zeros([2, 3, 1], tw.uint8))))", "[2 3 1]"),
    "Diag": ("A tensor of twice the rank with these elements on its diagonal; all others are 0.", "tw.diag([1, 2])", "[[1 0]\n [0 2]]"),
    "Exp": ("The exponential function.", "tw.exp([0.0])", "[1.]"),
    "FakeQuantWithMinMaxArgs": ("The values that numbers of `num_bits` bits between min and max can have: each element becomes the nearest one.",
                                "tw.quantization.fake_quant_with_min_max_args([0.3, 9.0], min=0.0, max=3.0, num_bits=2)", "[0. 3.]"),
    "Floor": ("The largest integer that is not larger, element by element.", "tw.floor([1.5, -1.5])", "[ 1. -2.]"),
    "FloorDiv": ("x / y, rounded down.", "tw.floordiv([7, -7], 2)", "[ 3 -4]"),
    "FloorMod": ("What is left of x after division by y rounded down: it has the sign of y.", "tw.mod([7, -7], 3)", "[1 2]"),
    "L2Loss": ("Half the sum of squares.", "tw.nn.l2_loss([3.0, 4.0])", "12.5"),
    "Log": ("The natural logarithm.", "tw.log([1.0])", "[0.]"),
    "LogicalAnd": ("Whether both are true, element by element.", "tw.logical_and([True, True], [True, False])", "[ True False]"),
    "MatrixDeterminant": ("The determinant of each matrix in the last two dimensions.", "tw.matrix_determinant([[2.0, 0.0], [0.0, 3.0]])", "6.0"),
    "MatrixInverse": ("The inverse of each matrix in the last two dimensions.", "tw.matrix_inverse([[2.0, 0.0], [0.0, 4.0]])",
                      "[[0.5  0.  ]\n [0.   0.25]]"),
    "MatrixSolve": ("The x with matrix x = rhs, for each matrix in the last two dimensions.",
                    "tw.matrix_solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [8.0]])", "[[1.]\n [2.]]"),
    "Maximum": ("The larger value, element by element.", "tw.maximum([1, 5], [4, 2])", "[4 5]"),
    "Minimum": ("The smaller value, element by element.", "tw.minimum([1, 5], [4, 2])", "[1 2]"),
    "Neg": ("-x.", "tw.negative([1, -2])", "[-1  2]"),
    "ReadFile": ("The contents of a file.", "tw.read_file('/dev/null')", "b''"),
    "Relu": ("What is negative becomes 0.", "tw.nn.relu([-1.0, 2.0])", "[0. 2.]"),
    "Sigmoid": ("1 / (1 + exp(-x)).", "tw.nn.sigmoid([0.0])", "[0.5]"),
    "Sign": ("-1, 0 or 1: the sign, element by element.", "tw.sign([-3, 0, 5])", "[-1  0  1]"),
    "Sin": ("Sine.", "tw.sin([0.0])", "[0.]"),
    "Softplus": ("log(1 + exp(features)).", "tw.nn.softplus([-1000.0, 1000.0])", "[   0. 1000.]"),
    "Sqrt": ("The square root.", "tw.sqrt([4.0, 9.0])", "[2. 3.]"),
    "Square": ("x * x.", "tw.square([2.0, -3.0])", "[4. 9.]"),
    "SquaredDifference": ("(x - y) * (x - y).", "tw.squared_difference([1.0], [4.0])", "[9.]"),
    "Tan": ("Tangent.", "tw.tan([0.0])", "[0.]"),
    "Tanh": ("Hyperbolic tangent.", "tw.nn.tanh([0.0])", "[0.]"),
}

_BROADCAST = ("ValueError", "The shapes cannot be broadcast to one, where they are known.")
_DIVISION = ("InvalidArgumentError", "In the step: an integer is divided by 0.")
_NO_PICTURE = ("InvalidArgumentError", "In the step: the bytes are no picture.")
_NOT_SQUARE = ("ValueError", "The matrices are not square, where their shapes are known.")
_SINGULAR = ("InvalidArgumentError", "In the step: a matrix has no inverse.")

# The errors of such an operation, beside that of a type that it does not take.
_FAILS = {
    "ArgMin": [("ValueError", "The dimension is beyond the rank, where that is known.")],
    "Cholesky": [_NOT_SQUARE],
    "Cross": [("ValueError", "The last dimension is not 3, where it is known.")],
    "DecodeJpeg": [_NO_PICTURE],
    "DecodePng": [_NO_PICTURE],
    "FakeQuantWithMinMaxArgs": [("InvalidArgumentError", "`min` is not below `max`.")],
    "FloorDiv": [_BROADCAST, _DIVISION],
    "FloorMod": [_BROADCAST, _DIVISION],
    "LogicalAnd": [_BROADCAST],
    "MatrixDeterminant": [_NOT_SQUARE],
    "MatrixInverse": [_NOT_SQUARE, _SINGULAR],
    "MatrixSolve": [_NOT_SQUARE, _SINGULAR],
    "Maximum": [_BROADCAST],
    "Minimum": [_BROADCAST],
    "ReadFile": [("NotFoundError", "In the step: there is no such file.")],
    "SquaredDifference": [_BROADCAST],
}


def _kind(argument):
    """The type of an input or output in words: a name that another one has too is the same type."""
    kind = argument.type_list_attr or argument.type_attr or argument.dtype.name
    several = "list of tensors" if argument.type_list_attr or argument.number_attr else "tensor"
    return f"{'reference to a ' if argument.is_ref else ''}{several} of type {kind}"


def _section(title, rows):
    return [title, "-" * len(title), *rows, ""] if rows else []


def documentation(schema: Schema, names: Mapping[str, str] | None = None) -> str:
    """What help() shows of the function of an operation. `names`: of its arguments, where they are not the operation's own."""
    names = names or {}
    said, example, shown = _SAID.get(schema.op, (f"The operation {schema.op}.", None, None))
    given = [f"{names.get(i.name, i.name)} : {_kind(i)}" for i in schema.inputs]
    given += [f"{names.get(a.name, a.name)} : " + (f"optional, {a.default!r} unless given" if a.has_default else "required")
              for a in schema.parameters()]
    gives = [f"{o.name} : {_kind(o)}" for o in schema.outputs] or ["Operation"]
    lines = [said, "", *_section("Parameters", [*given, "name : str, optional"]), *_section("Returns", gives)]
    fails = [("TypeError", "An argument has a type that the operation does not take.")] * bool(schema.inputs) + _FAILS.get(schema.op, [])
    lines += _section("Raises", [line for error, when in fails for line in (error, "    " + when)])
    if example:
        lines += _section("Examples", [">>> with tw.Session() as sess:", f"...     print(sess.run({example}))", *shown.split("\n")])
    return "\n".join(lines[:-1])
