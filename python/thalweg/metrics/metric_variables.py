# SPDX-License-Identifier: Apache-2.0
"""What all of tw.metrics stand on: their variables, their weights, where values and updates are collected."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control import replicas
from thalweg.graph import graph
from thalweg.graph.graph import GraphKeys
from thalweg.graph.ops import convert_to_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.operations.confusion import remove_squeezable_dimensions
from thalweg.variables.variable_modes import VariableAggregation, VariableSynchronization
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import DTypeLike, S, ShapeLike, T, TensorLike
    from thalweg.graph.tensor import Tensor


def metric_variable(shape: ShapeLike, dtype: DTypeLike, validate_shape: bool = True, name: str | None = None) -> Variable:
    """A local variable of zeros, also in the collection of metrics."""
    if graph.get_default_graph()._executes:
        raise RuntimeError("tf.metrics are not supported when eager execution is enabled.")
    return Variable(lambda: array_ops.zeros(shape, dtype), trainable=False, validate_shape=validate_shape, name=name,
                    synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.SUM, collections=[
                        GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES])


def so_far(variable: Variable) -> Tensor:
    """What a metric's variable has counted; that of all replicas under a strategy."""
    context = replicas.of_a_replica()
    return variable.value() if context is None else context.merge_call(lambda strategy: variable.read_value())


def collected(value: T, update: S, metrics_collections: str | Sequence[str] | None,
              updates_collections: str | Sequence[str] | None) -> tuple[T, S]:
    """(value, update), put into the collections asked for."""
    target = graph.get_default_graph()
    if metrics_collections:
        target.add_to_collections(metrics_collections, value)
    if updates_collections:
        target.add_to_collections(updates_collections, update)
    return value, update


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
