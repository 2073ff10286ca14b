# SPDX-License-Identifier: Apache-2.0
"""Functions of tw.nn: transposed convolutions, pooling of any rank, losses of batches that are cut in parts."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nn
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import DynamicShape, TensorLike
    from thalweg.graph.tensor import Tensor


def _each(values, rank):
    values = [1] if values is None else [values] if isinstance(values, int) else [int(v) for v in values]
    if len(values) == rank + 2:
        return None
    if len(values) not in (1, rank):
        raise ValueError(f"expected 1, {rank} or {rank + 2} numbers, found {values}")
    return values * rank if len(values) == 1 else values


def _along(values, rank, data_format):
    """One number for each of all dimensions."""
    each = _each(values, rank)
    if each is None:
        return [int(v) for v in values]
    return [1, 1, *each] if data_format.startswith("NC") else [1, *each, 1]


def conv1d_transpose(input: TensorLike, filters: TensorLike, output_shape: DynamicShape, strides: int | Sequence[int],
                     padding: str = "SAME", data_format: str = "NWC", dilations: int | Sequence[int] | None = None,
                     name: str | None = None) -> Tensor:
    """The gradient of conv1d as an operation of its own; filters are [width, out, in]."""
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        data_format = data_format or "NWC"
        if data_format not in ("NWC", "NCW", "NHWC", "NCHW"):
            raise ValueError(f"data_format must be \"NWC\" or \"NCW\", got {data_format!r}")
        first = data_format.startswith("NC")
        axis, wide = (2, "NCHW") if first else (1, "NHWC")
        steps, rates = (_along(v, 1, data_format) for v in (strides, dilations))
        sizes = array_ops._shape_argument(output_shape)
        sizes = array_ops.concat([sizes[:axis], [1], sizes[axis:]], 0)
        made = apply("Conv2DBackpropInput", [sizes, array_ops.expand_dims(filters, 0), array_ops.expand_dims(input, axis)],
                     {"strides": steps[:axis] + [1] + steps[axis:], "dilations": rates[:axis] + [1] + rates[axis:],
                      "padding": padding, "data_format": wide})
        return array_ops.squeeze(made, [axis], name=scope)


def conv_transpose(input: TensorLike, filters: TensorLike, output_shape: DynamicShape, strides: int | Sequence[int],
                   padding: str = "SAME", data_format: str | None = None, dilations: int | Sequence[int] | None = None,
                   name: str | None = None) -> Tensor:
    """The transposed convolution of one, two or three dimensions, as the length of output_shape says."""
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        shape = array_ops._shape_argument(output_shape)
        if shape.shape.ndims != 1:
            raise ValueError("output_shape must be a vector")
        rank = shape.shape._size(0) - 2
        if rank not in (1, 2, 3):
            raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {rank + 2}.")
        make = {1: conv1d_transpose, 2: nn.conv2d_transpose, 3: nn.conv3d_transpose}[rank]
        data_format = data_format or {1: "NWC", 2: "NHWC", 3: "NDHWC"}[rank]
        return make(input, filters, shape, _along(strides, rank, data_format), padding=padding, data_format=data_format,
                    dilations=_along(dilations, rank, data_format), name=scope)


def atrous_conv2d_transpose(value: TensorLike, filters: TensorLike, output_shape: DynamicShape, rate: int, padding: str,
                            name: str | None = None) -> Tensor:
    """The gradient of atrous_conv2d as an operation of its own."""
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as scope:
        if rate < 1:
            raise ValueError(f"rate {rate} cannot be less than one")
        if padding not in ("SAME", "VALID"):
            raise ValueError("`padding` must be either \"VALID\" or \"SAME\"")
        return apply("Conv2DBackpropInput", [array_ops._shape_argument(output_shape), filters, value],
                     {"strides": [1, 1, 1, 1], "dilations": [1, rate, rate, 1], "padding": padding}, name=scope)
