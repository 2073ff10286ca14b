# SPDX-License-Identifier: Apache-2.0
"""Weights of losses and metrics, which are a scalar or have the values' rank: never broadcast in another way, which would be a mistake."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph import graph, ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, checks, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Operation, Tensor


def assert_broadcastable(weights: TensorLike | None, values: TensorLike) -> Operation:
    """An operation that fails unless weights are a scalar or have, dimension by dimension, 1 or the size of values."""
    with name_scope(None, "assert_broadcastable", [values, weights]):
        weights, values = convert_to_tensor(weights, name="weights"), convert_to_tensor(values, name="values")
        given, wanted = weights.shape, values.shape
        if given.ndims == 0:
            return ops.no_op(name="static_scalar_check_success")
        if given.ndims is None or wanted.ndims is None or not (given.is_fully_defined() and wanted.is_fully_defined()):
            return _dynamic_check(weights, values)
        sizes = f"values.shape={wanted.as_list()}. weights.shape={given.as_list()}."
        if given.ndims != wanted.ndims:
            raise ValueError("weights can not be broadcast to values. "
                             f"values.rank={wanted.ndims}. weights.rank={given.ndims}. {sizes}")
        for i, (w, v) in enumerate(zip(given.as_list(), wanted.as_list())):
            if w not in (1, v):
                raise ValueError(f"weights can not be broadcast to values. Mismatch at dim {i}. {sizes}")
        return ops.no_op(name="static_dims_check_success")


def _dynamic_check(weights, values):
    """As a step sees the shapes: same rank, and 1 or the same in each dimension; or a scalar."""
    w, v = array_ops.shape_internal(weights, optimize=False), array_ops.shape_internal(values, optimize=False)
    rank_w, rank_v = array_ops.rank(weights), array_ops.rank(values)
    padded = array_ops.concat([w, array_ops.fill(array_ops.reshape(apply("Maximum", [rank_v - rank_w, 0]), [1]), 1)], 0)
    fits = apply("LogicalOr", [apply("Equal", [padded[:rank_v], 1]), apply("Equal", [padded[:rank_v], v])])
    same = apply("LogicalAnd", [apply("Equal", [rank_w, rank_v]), math_ops.reduce_all(fits)])
    return checks.Assert(apply("LogicalOr", [apply("Equal", [rank_w, 0]), same]),
                         ["weights can not be broadcast to values.", "weights.shape=", w, "values.shape=", v])


def broadcast_weights(weights: TensorLike | None, values: TensorLike) -> Tensor:
    """The weights with the shape of values."""
    with name_scope(None, "broadcast_weights", [weights, values]):
        values = convert_to_tensor(values, name="values")
        weights = math_ops.cast(weights, values.dtype.base_dtype)
        if weights.shape.is_fully_defined() and values.shape.is_fully_defined() and \
                weights.shape.as_list() == values.shape.as_list():
            return weights
        with graph.control_dependencies([assert_broadcastable(weights, values)]):
            return apply("Mul", [weights, array_ops.ones_like(values)])
