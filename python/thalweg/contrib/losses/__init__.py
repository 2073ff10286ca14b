# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.losses: tw.losses in their older form: predictions before labels, hinge losses as they are."""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from thalweg import losses, nn
from thalweg.base import names
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import convert_to_tensor
from thalweg.losses import add_loss, compute_weighted_loss as _weighted, get_losses, get_regularization_losses  # noqa: F401
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Tensor:
    """The sum of all losses."""
    return losses.get_total_loss(add_regularization_losses, name)


def _both(predictions, labels):
    """Tensors of one shape."""
    if predictions is None or labels is None:
        raise ValueError("predictions and labels must be given")
    predictions, labels = (math_ops.cast(convert_to_tensor(x), "float32") for x in (predictions, labels))
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


def compute_weighted_loss(losses: TensorLike, weights: TensorLike = 1.0, scope: str | None = None) -> Tensor:
    """The mean of losses times weights, over the elements whose weight is not 0."""
    if weights is None:
        raise ValueError("`weights` cannot be None")
    losses = math_ops.cast(convert_to_tensor(losses), "float32")
    return _weighted(losses, _of_rank(weights, losses), scope)


def _of_rank(weights, losses):
    """Weights of the first dimensions, for all elements in them."""
    weights = math_ops.cast(convert_to_tensor(weights), "float32")
    while weights.shape.ndims and losses.shape.ndims and weights.shape.ndims < losses.shape.ndims:
        weights = array_ops.expand_dims(weights, -1)
    return weights


def absolute_difference(predictions: TensorLike, labels: TensorLike | None = None, weights: TensorLike = 1.0,
                        scope: str | None = None) -> Tensor:
    """Mean of |predictions - labels|."""
    with name_scope(scope, "absolute_difference", [predictions, labels]) as scope:
        predictions, labels = _both(predictions, labels)
        return compute_weighted_loss(math_ops.abs_(predictions - labels), weights, scope)


def mean_squared_error(predictions: TensorLike, labels: TensorLike | None = None, weights: TensorLike = 1.0,
                       scope: str | None = None) -> Tensor:
    """Mean of (predictions - labels) ** 2."""
    with name_scope(scope, "mean_squared_error", [predictions, labels]) as scope:
        predictions, labels = _both(predictions, labels)
        return compute_weighted_loss(ops.apply("SquaredDifference", [predictions, labels]), weights, scope)


def log_loss(predictions: TensorLike, labels: TensorLike | None = None, weights: TensorLike = 1.0, epsilon: float = 1e-7,
             scope: str | None = None) -> Tensor:
    """Mean of the logarithmic loss of probabilities."""
    with name_scope(scope, "log_loss", [predictions, labels]) as scope:
        predictions, labels = _both(predictions, labels)
        return compute_weighted_loss(-labels * _log(predictions + epsilon) - (1 - labels) * _log(1 - predictions + epsilon), weights, scope)


def _log(x):
    return ops.apply("Log", [x])


def hinge_loss(logits: TensorLike, labels: TensorLike | None = None, scope: str | None = None) -> Tensor:
    """max(0, 1 - (2 labels - 1) logits) of each element: no number, and in no collection."""
    with name_scope(scope, "hinge_loss", [logits, labels]):
        logits, labels = _both(logits, labels)
        return nn.relu(1 - (2 * labels - 1) * logits)


def cosine_distance(predictions: TensorLike, labels: TensorLike | None = None, axis: int | None = None, weights: TensorLike = 1.0,
                    scope: str | None = None, dim: int | None = None) -> Tensor:
    """Mean of 1 - predictions . labels along an axis; both are of length 1 already."""
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with name_scope(scope, "cosine_distance_loss", [predictions, labels]) as scope:
        predictions, labels = _both(predictions, labels)
        return compute_weighted_loss(1 - math_ops.reduce_sum(predictions * labels, axis), weights, scope)


def mean_pairwise_squared_error(predictions: TensorLike, labels: TensorLike | None = None, weights: TensorLike = 1.0,
                                scope: str | None = None) -> Tensor:
    """Twice the variance of predictions - labels within each sample, summed: pairs of an element with itself count, unlike in
    tw.losses."""
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels]):
        predictions, labels = _both(predictions, labels)
        off = predictions - labels
        weights = _of_rank(weights, off)
        inside = list(range(1, off.shape.ndims))
        counted = array_ops.ones_like(off) * math_ops.cast(math_ops.not_equal(weights, 0.0), off.dtype)
        number = math_ops.reduce_sum(counted, inside, keepdims=True)
        squares, mean = (ops.apply("DivNoNan", [math_ops.reduce_sum(x, inside, keepdims=True), number]) for x in (off * off, off))
        loss = math_ops.reduce_sum(2 * (squares - mean * mean) * weights)
        add_loss(loss)
        return loss


def sigmoid_cross_entropy(logits: TensorLike, multi_class_labels: TensorLike, weights: TensorLike = 1.0,
                          label_smoothing: float = 0, scope: str | None = None) -> Tensor:
    """Mean cross entropy of independent classes."""
    return losses.sigmoid_cross_entropy(multi_class_labels, logits, weights, label_smoothing, scope)


def softmax_cross_entropy(logits: TensorLike, onehot_labels: TensorLike, weights: TensorLike = 1.0, label_smoothing: float = 0,
                          scope: str | None = None) -> Tensor:
    """Mean cross entropy of exclusive classes."""
    return losses.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


def sparse_softmax_cross_entropy(logits: TensorLike, labels: TensorLike, weights: TensorLike = 1.0,
                                 scope: str | None = None) -> Tensor:
    """Mean cross entropy of exclusive classes, given by number."""
    return losses.sparse_softmax_cross_entropy(labels, logits, weights, scope)


def __getattr__(name):
    if name == "metric_learning":
        return importlib.import_module("thalweg.contrib.losses.metric_learning")
    raise AttributeError(f"module 'thalweg.contrib.losses' has no attribute '{name}'")


names.complete(globals())
