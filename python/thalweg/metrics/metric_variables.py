# SPDX-License-Identifier: Apache-2.0
"""What all of tw.metrics stand on: their variables, their weights, where values and updates are collected."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys, name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, checks, math_ops
from thalweg.operations.confusion import remove_squeezable_dimensions
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import DTypeLike, S, ShapeLike, T, TensorLike
    from thalweg.graph.tensor import Operation, Tensor


def metric_variable(shape: ShapeLike, dtype: DTypeLike, validate_shape: bool = True, name: str | None = None) -> Variable:
    """A local variable of zeros, also in the collection of metrics."""
    return Variable(lambda: array_ops.zeros(shape, dtype), trainable=False, validate_shape=validate_shape, name=name,
                    collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES])


def collected(value: T, update: S, metrics_collections: str | Sequence[str] | None,
              updates_collections: str | Sequence[str] | None) -> tuple[T, S]:
    """(value, update), put into the collections asked for."""
    target = graph.get_default_graph()
    if metrics_collections:
        target.add_to_collections(metrics_collections, value)
    if updates_collections:
        target.add_to_collections(updates_collections, update)
    return value, update


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


def aligned(predictions: TensorLike | None, labels: TensorLike | None,
            weights: TensorLike | None) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """(predictions, labels, weights) as tensors of one rank: a last dimension of 1 that one has more is left out."""
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    weights = convert_to_tensor(weights)
    rank, wanted = weights.shape.ndims, predictions.shape.ndims
    if rank is not None and wanted is not None and rank:
        if rank - wanted == 1:
            weights = array_ops.squeeze(weights, [-1])
        elif wanted - rank == 1:
            weights = array_ops.expand_dims(weights, [-1])
    return predictions, labels, weights


def truth_values(tensor: TensorLike) -> Tensor:
    """The values as booleans."""
    return math_ops.cast(tensor, dtypes.bool)
