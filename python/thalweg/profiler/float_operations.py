# SPDX-License-Identifier: Apache-2.0
"""How many float operations a node is, by the shapes of its values: of the kinds that TensorFlow 1.15 counts, and their later versions.
Additions and multiplications are one each.

Two kinds are counted otherwise than by 1.15, whose numbers are not what such a node does. Gradients of a convolution are as many as the
convolution is: 1.15 divides what it would be at all places of its input by the strides, which is another number where padding is VALID or
strides do not divide the image. A product of batches with `adj_x` is summed over the rows of its first input, where 1.15 takes the columns.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.graph.tensor import Operation, Tensor


class UnknownShapeError(ValueError):
    """The shapes of a node are not known as far as its float operations need them."""


def _shape(tensor: Tensor) -> list[int]:
    shape = tensor.shape
    if not shape.is_fully_defined():
        raise UnknownShapeError(f"shape {shape} is not fully defined")
    return shape.as_list()


def _count(tensor: Tensor) -> int:
    return math.prod(_shape(tensor))


def _each(per_element: int) -> Callable[[Operation], int]:
    return lambda op: per_element * _count(op.outputs[0])


def _reduction(op):
    return _count(op.inputs[0]) - _count(op.outputs[0])


def _product(op):
    *_, rows, columns = _shape(op.inputs[0])
    is_turned = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
    return 2 * _count(op.outputs[0]) * (rows if is_turned else columns)


def _convolution(filter_input, image):
    """Of a convolution that has its filter at that input and its result's form at `image`: multiply-adds of every output."""
    def count(op):
        *window, depth, _ = _shape(op.inputs[filter_input])
        return 2 * _count(image(op)) * math.prod(window) * depth
    return count


def _filter_gradient(op):
    *window, depth, _ = _shape(op.outputs[0])
    return 2 * _count(op.inputs[2]) * math.prod(window) * depth


def _window(filter_or_attr, operations):
    """As many operations for each place of a window and each output."""
    def count(op):
        area = (math.prod(_shape(op.inputs[1])[:2]) if filter_or_attr == "filter" else math.prod(op.get_attr("ksize")))
        return operations * area * _count(op.outputs[0])
    return count


def _pool_gradient(op):
    return (math.prod(op.get_attr("ksize")) + 1) * _count(op.inputs[1])


def _mean_pool_gradient(op):
    return 2 * math.prod(op.get_attr("ksize")) * _count(op.inputs[1])


_COUNTS: dict[str, Callable[[Operation], int]] = {
    **dict.fromkeys("Add AddV2 Sub Mul RealDiv Maximum Minimum Pow Greater GreaterEqual Less LessEqual Equal NotEqual Reciprocal Square "
                    "Neg Log BiasAdd AssignAdd AssignSub".split(), _each(1)),
    "SquaredDifference": _each(2), "Rsqrt": _each(2), "RsqrtGrad": _each(4), "Softmax": _each(5),
    **dict.fromkeys(["Sum", "ArgMax", "ArgMin", "BiasAddGrad"], _reduction),
    "Mean": lambda op: _count(op.inputs[0]),
    "L2Loss": lambda op: 3 * _count(op.inputs[0]) - 1,
    "AddN": lambda op: (len(op.inputs) - 1) * _count(op.outputs[0]),
    **dict.fromkeys(["MatMul", "BatchMatMul", "BatchMatMulV2"], _product),
    "Conv2D": _convolution(1, lambda op: op.outputs[0]), "Conv3D": _convolution(1, lambda op: op.outputs[0]),
    "Conv2DBackpropInput": _convolution(1, lambda op: op.inputs[2]), "Conv2DBackpropFilter": _filter_gradient,
    "DepthwiseConv2dNative": _window("filter", 2), "Dilation2D": _window("filter", 2),
    "MaxPool": _window("ksize", 1), "AvgPool": _window("ksize", 1), "MaxPoolGrad": _pool_gradient, "AvgPoolGrad": _mean_pool_gradient,
}


def float_operations(op: Operation) -> int:
    """Of one run of a node; 0 where its kind is not counted. UnknownShapeError where its shapes are not known."""
    count = _COUNTS.get(op.type)
    return 0 if count is None else count(op)
