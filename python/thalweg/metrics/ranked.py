# SPDX-License-Identifier: Apache-2.0
"""Measures of the k best guesses: how many of them are among the labels of an example."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nn, sets
from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.metrics.metric_variables import collected, metric_variable, so_far
from thalweg.operations import array_ops, math_ops, sparse_ops
from thalweg.operations.broadcast_weights import assert_broadcastable, broadcast_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


def _name(name, k, class_id=None):
    made = f"{name}_at_{k}" if k is not None else f"{name}_at_k"
    return made if class_id is None else f"{made}_class{class_id}"


def _labels(labels, predictions):
    """Labels as int64, dense or sparse, with a last dimension of their own."""
    if hasattr(labels, "dense_shape"):
        labels = SparseTensor.from_value(labels)
        values = math_ops.cast(labels.values, dtypes.int64)
        return SparseTensor(labels.indices, values, labels.dense_shape)
    labels = math_ops.cast(labels, dtypes.int64)
    if labels.shape.ndims is not None and labels.shape.ndims == (predictions.shape.ndims or 0) - 1:
        labels = array_ops.expand_dims(labels, -1)
    return labels


def _of_class(ids, class_id):
    """Only what is of the class."""
    if isinstance(ids, SparseTensor):
        return sparse_ops.sparse_retain(ids, apply("Equal", [ids.values, class_id]))
    one = array_ops.concat([array_ops.shape(ids)[:-1], [1]], 0)
    return sets.intersection(array_ops.fill(one, math_ops.cast(class_id, dtypes.int64)), ids)


def _found(kind, found, weights, k, class_id):
    """(value, update) of a sum of set sizes."""
    with name_scope(None, _name(kind, k, class_id)) as scope:
        numbers = math_ops.cast(sets.set_size(found), dtypes.float64)
        if weights is not None:
            with graph.control_dependencies([assert_broadcastable(weights, numbers)]):
                numbers = apply("Mul", [numbers, math_ops.cast(weights, dtypes.float64)])
        variable = metric_variable([], dtypes.float64, name=scope)
        return so_far(variable), variable.assign_add(math_ops.reduce_sum(numbers), name="update")


def _share(name, kind, labels, guesses, k, class_id, weights, metrics_collections, updates_collections):
    """Right guesses over all guesses, or over all labels."""
    with name_scope(name, _name(kind, k, class_id), [guesses, labels, weights]) as scope:
        guesses = math_ops.cast(guesses, dtypes.int64)
        labels = _labels(labels, guesses)
        if class_id is not None:
            labels, guesses = _of_class(labels, class_id), _of_class(guesses, class_id)
        hits = _found("true_positive", sets.intersection(guesses, labels), weights, k, class_id)
        if kind == "precision":
            others = _found("false_positive", sets.difference(guesses, labels), weights, k, class_id)
        else:
            others = _found("false_negative", sets.difference(guesses, labels, aminusb=False), weights, k, class_id)
        value, update = (apply("Div", [h, h + o], name=n) for h, o, n in zip(hits, others, (scope, "update")))
        return collected(value, update, metrics_collections, updates_collections)


def _best(predictions, k):
    return math_ops.cast(nn.top_k(predictions, k)[1], dtypes.int64)


def precision_at_top_k(labels: TensorLike, predictions_idx: TensorLike, k: int | None = None, class_id: int | None = None,
                       weights: TensorLike | None = None, metrics_collections: str | Sequence[str] | None = None,
                       updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of guesses, given as class numbers, that are among the labels."""
    return _share(name, "precision", labels, predictions_idx, k, class_id, weights, metrics_collections, updates_collections)


def recall_at_top_k(labels: TensorLike, predictions_idx: TensorLike, k: int | None = None, class_id: int | None = None,
                    weights: TensorLike | None = None, metrics_collections: str | Sequence[str] | None = None,
                    updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of labels that are among the guesses, given as class numbers."""
    return _share(name, "recall", labels, predictions_idx, k, class_id, weights, metrics_collections, updates_collections)


def precision_at_k(labels: TensorLike, predictions: TensorLike, k: int, class_id: int | None = None,
                   weights: TensorLike | None = None, metrics_collections: str | Sequence[str] | None = None,
                   updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of the k best guesses that are among the labels."""
    with name_scope(name, _name("precision", k, class_id), [predictions, labels, weights]) as scope:
        return precision_at_top_k(labels, _best(predictions, k), k, class_id, weights, metrics_collections, updates_collections,
                                  scope)


def sparse_precision_at_k(labels: TensorLike, predictions: TensorLike, k: int, class_id: int | None = None,
                          weights: TensorLike | None = None, metrics_collections: str | Sequence[str] | None = None,
                          updates_collections: str | Sequence[str] | None = None,
                          name: str | None = None) -> tuple[Tensor, Tensor]:
    """The old name of precision_at_k."""
    return precision_at_k(labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name)


def recall_at_k(labels: TensorLike, predictions: TensorLike, k: int, class_id: int | None = None,
                weights: TensorLike | None = None, metrics_collections: str | Sequence[str] | None = None,
                updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of labels that are among the k best guesses."""
    with name_scope(name, _name("recall", k, class_id), [predictions, labels, weights]) as scope:
        return recall_at_top_k(labels, _best(predictions, k), k, class_id, weights, metrics_collections, updates_collections,
                               scope)


# ---- average precision ----
def _average_precision(labels, guesses):
    """For each example the mean over its labels, k of them at most, of the precision at the places of right guesses."""
    k = guesses.shape._size(-1)
    if k is None:
        raise ValueError("k must be known: the last dimension of predictions_idx.")
    if isinstance(labels, SparseTensor):
        number = math_ops.cast(sets.set_size(labels), dtypes.float64)
        dense = sparse_ops.sparse_tensor_to_dense(labels, default_value=-1, validate_indices=False)
    else:
        dense = labels
        number = array_ops.fill(array_ops.shape(labels)[:-1], math_ops.cast(array_ops.shape(labels)[-1], dtypes.float64))
    right = math_ops.reduce_any(apply("Equal", [array_ops.expand_dims(guesses, -1), array_ops.expand_dims(dense, -2)]), -1)
    right = math_ops.cast(right, dtypes.float64)
    precision = math_ops.cumsum(right, -1) / math_ops.cast(math_ops.range_(1, k + 1), dtypes.float64)
    return apply("DivNoNan", [math_ops.reduce_sum(apply("Mul", [precision, right]), -1),
                              apply("Minimum", [number, math_ops.cast(k, dtypes.float64)])])


def average_precision_at_k(labels: TensorLike, predictions: TensorLike, k: int, weights: TensorLike | None = None,
                           metrics_collections: str | Sequence[str] | None = None,
                           updates_collections: str | Sequence[str] | None = None,
                           name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean over examples of their average precision at k."""
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    return _mean_average_precision(_name("average_precision", k), labels, predictions, lambda p: _best(p, k), weights,
                                   metrics_collections, updates_collections, name)


def average_precision_at_top_k(labels: TensorLike, predictions_idx: TensorLike, weights: TensorLike | None = None,
                               metrics_collections: str | Sequence[str] | None = None,
                               updates_collections: str | Sequence[str] | None = None,
                               name: str | None = None) -> tuple[Tensor, Tensor]:
    """The same of classes that are ranked already."""
    return _mean_average_precision("average_precision_at_top_k", labels, predictions_idx,
                                   lambda p: math_ops.cast(p, dtypes.int64), weights, metrics_collections, updates_collections, name)


def _mean_average_precision(kind, labels, predictions, guess, weights, metrics_collections, updates_collections, name):
    with name_scope(name, kind, [predictions, labels, weights]) as scope:
        guesses = guess(predictions)
        found = _average_precision(_labels(labels, guesses), guesses)
        if weights is None:
            most = math_ops.cast(array_ops.size(found), dtypes.float64)
        else:
            weights = broadcast_weights(math_ops.cast(weights, dtypes.float64), found)
            found, most = apply("Mul", [found, weights]), math_ops.reduce_sum(weights)
        largest, total = metric_variable([], dtypes.float64, name="max"), metric_variable([], dtypes.float64, name="total")
        update = apply("DivNoNan", [total.assign_add(math_ops.reduce_sum(found)), largest.assign_add(most)], name=scope)
        value = apply("DivNoNan", [so_far(total), so_far(largest)], name="mean")
        return collected(value, update, metrics_collections, updates_collections)


def sparse_average_precision_at_k(labels: TensorLike, predictions: TensorLike, k: int, weights: TensorLike | None = None,
                                  metrics_collections: str | Sequence[str] | None = None,
                                  updates_collections: str | Sequence[str] | None = None,
                                  name: str | None = None) -> tuple[Tensor, Tensor]:
    """The old name of average_precision_at_k."""
    return average_precision_at_k(labels, predictions, k, weights, metrics_collections, updates_collections, name)
