# SPDX-License-Identifier: Apache-2.0
"""Means, counts and errors over many batches. Each gives (value, update operation) over local variables."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.metrics.metric_variables import aligned, collected, metric_variable, so_far, truth_values
from thalweg.operations import array_ops, checks, math_ops
from thalweg.operations.broadcast_weights import broadcast_weights
from thalweg.operations.confusion import confusion_matrix, remove_squeezable_dimensions
from thalweg.variables.scattering import scatter_add
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


# ---- means ----
def mean(values: TensorLike, weights: TensorLike | None = None, metrics_collections: str | Sequence[str] | None = None,
         updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The (weighted) mean of all values so far.

    Parameters
    ----------
    values : tensor_like
        Of a real type and any shape.
    weights : tensor_like, optional
        How much each counts; it is broadcast to `values`.
    metrics_collections, updates_collections : list of str, optional
        Collections that the value and the update operation join.
    name : str, optional
        Scope of the local variables; "mean" by default.

    Returns
    -------
    value : Tensor
        A float32 scalar, of what the updates have seen.
    update_op : Tensor
        It adds these values, and gives the new mean.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> value, update = tw.metrics.mean([1.0, 2.0, 6.0])
    >>> with tw.Session() as sess:
    ...     sess.run(tw.local_variables_initializer())
    ...     print(sess.run(update), sess.run(value))
    3.0 3.0
    """
    with variable_scope(name, "mean", [values, weights]):
        values = math_ops.cast(values, dtypes.float32)
        total, count = metric_variable([], dtypes.float32, name="total"), metric_variable([], dtypes.float32, name="count")
        if weights is None:
            number = math_ops.cast(array_ops.size(values), dtypes.float32)
        else:
            values, _, weights = aligned(values, None, weights)
            weights = broadcast_weights(math_ops.cast(weights, dtypes.float32), values)
            values, number = apply("Mul", [values, weights]), math_ops.reduce_sum(weights)
        more = total.assign_add(math_ops.reduce_sum(values))
        with graph.control_dependencies([values]):
            further = count.assign_add(number)
        value = apply("DivNoNan", [so_far(total), so_far(count)], name="value")
        update = apply("DivNoNan", [more, further], name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


def mean_tensor(values: TensorLike, weights: TensorLike | None = None, metrics_collections: str | Sequence[str] | None = None,
                updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The (weighted) means of all values so far, element by element."""
    with variable_scope(name, "mean", [values, weights]):
        values = math_ops.cast(values, dtypes.float32)
        total = metric_variable(values.shape, dtypes.float32, name="total_tensor")
        count = metric_variable(values.shape, dtypes.float32, name="count_tensor")
        number = array_ops.ones_like(values)
        if weights is not None:
            values, _, weights = aligned(values, None, weights)
            weights = broadcast_weights(math_ops.cast(weights, dtypes.float32), values)
            values, number = apply("Mul", [values, weights]), apply("Mul", [number, weights])
        more = total.assign_add(values)
        with graph.control_dependencies([values]):
            further = count.assign_add(number)
        value = apply("DivNoNan", [so_far(total), so_far(count)], name="value")
        update = apply("DivNoNan", [more, further], name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


def accuracy(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None,
             metrics_collections: str | Sequence[str] | None = None, updates_collections: str | Sequence[str] | None = None,
             name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of predictions so far that were right.

    Parameters
    ----------
    labels, predictions : tensor_like
        Of the same shape; predictions are cast to the type of the labels.
    weights : tensor_like, optional
        How much each counts; it is broadcast to `labels`.
    metrics_collections, updates_collections : list of str, optional
        Collections that the value and the update operation join.
    name : str, optional
        Scope of the local variables; "accuracy" by default.

    Returns
    -------
    value : Tensor
        A float32 scalar, of what the updates have seen.
    update_op : Tensor
        It adds this batch, and gives the new value.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     value, update = tw.metrics.accuracy(labels=[1, 2, 3, 4], predictions=[1, 2, 3, 0])
    ...     sess.run(tw.local_variables_initializer())
    ...     print(sess.run(update), sess.run(value))
    0.75 0.75
    """
    predictions, labels, weights = aligned(predictions, labels, weights)
    if labels.dtype != predictions.dtype:
        predictions = math_ops.cast(predictions, labels.dtype)
    hits = math_ops.cast(apply("Equal", [predictions, labels]), dtypes.float32)
    return mean(hits, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_absolute_error(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None,
                        metrics_collections: str | Sequence[str] | None = None,
                        updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of |labels - predictions| so far."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = apply("Abs", [apply("Sub", [predictions, labels])])
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


def mean_squared_error(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None,
                       metrics_collections: str | Sequence[str] | None = None,
                       updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of (labels - predictions) ** 2 so far."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = apply("SquaredDifference", [labels, predictions])
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


def root_mean_squared_error(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None,
                            metrics_collections: str | Sequence[str] | None = None,
                            updates_collections: str | Sequence[str] | None = None,
                            name: str | None = None) -> tuple[Tensor, Tensor]:
    """The square root of the mean of (labels - predictions) ** 2 so far."""
    value, update = mean_squared_error(labels, predictions, weights, None, None, name or "root_mean_squared_error")
    return collected(apply("Sqrt", [value]), apply("Sqrt", [update]), metrics_collections, updates_collections)


def mean_relative_error(labels: TensorLike, predictions: TensorLike, normalizer: TensorLike, weights: TensorLike | None = None,
                        metrics_collections: str | Sequence[str] | None = None,
                        updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of |labels - predictions| / normalizer so far, where the normalizer is not 0."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = array_ops.where(apply("Equal", [normalizer, array_ops.zeros_like(normalizer)]), array_ops.zeros_like(labels),
                             apply("Div", [apply("Abs", [apply("Sub", [labels, predictions])]), normalizer]))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


def mean_cosine_distance(labels: TensorLike, predictions: TensorLike, dim: int, weights: TensorLike | None = None,
                         metrics_collections: str | Sequence[str] | None = None,
                         updates_collections: str | Sequence[str] | None = None,
                         name: str | None = None) -> tuple[Tensor, Tensor]:
    """1 less the mean of the products of unit vectors along `dim` so far."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    products = math_ops.reduce_sum(apply("Mul", [predictions, labels]), [dim], keepdims=True)
    value, update = mean(products, weights, None, None, name or "mean_cosine_distance")
    return collected(apply("Sub", [1.0, value]), apply("Sub", [1.0, update]), metrics_collections, updates_collections)


def percentage_below(values: TensorLike, threshold: float, weights: TensorLike | None = None,
                     metrics_collections: str | Sequence[str] | None = None,
                     updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of values so far below a threshold."""
    below = math_ops.cast(apply("Less", [values, threshold]), dtypes.float32)
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


# ---- counts of right and wrong ----
def _count(chosen, weights, metrics_collections, updates_collections):
    """How many are chosen, or the sum of their weights."""
    count = metric_variable([], dtypes.float32, name="count")
    values = math_ops.cast(chosen, dtypes.float32)
    if weights is not None:
        with graph.control_dependencies((checks.assert_rank_in(weights, (0, values.shape.ndims)),)
                                        if values.shape.ndims is not None else ()):
            values = apply("Mul", [values, math_ops.cast(weights, dtypes.float32)])
    value = array_ops.identity(so_far(count))
    return collected(value, count.assign_add(math_ops.reduce_sum(values)), metrics_collections, updates_collections)


def _counter(kind, label, prediction):
    def measure(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None,
                metrics_collections: str | Sequence[str] | None = None, updates_collections: str | Sequence[str] | None = None,
                name: str | None = None) -> tuple[Tensor, Tensor]:
        with variable_scope(name, kind, [predictions, labels, weights]):
            given = aligned(truth_values(predictions), truth_values(labels), weights)
            predicted, wanted = ((t if yes else apply("LogicalNot", [t])) for t, yes in zip(given, (prediction, label)))
            return _count(apply("LogicalAnd", [wanted, predicted]), given[2], metrics_collections, updates_collections)
    measure.__name__ = measure.__qualname__ = kind
    measure.__doc__ = f"How many predictions so far were {kind.replace('_', ' ')}."
    return measure


true_positives = _counter("true_positives", True, True)
true_negatives = _counter("true_negatives", False, False)
false_positives = _counter("false_positives", False, True)
false_negatives = _counter("false_negatives", True, False)


def _share_of_hits(kind, others, labels, predictions, weights, metrics_collections, updates_collections, name):
    """True positives over these and the others."""
    with variable_scope(name, kind, [predictions, labels, weights]):
        predictions, labels, weights = aligned(truth_values(predictions), truth_values(labels), weights)
        hits, more_hits = true_positives(labels, predictions, weights)
        missed, more_missed = others(labels, predictions, weights)
        return collected(_share(hits, missed, "value"), _share(more_hits, more_missed, "update_op"), metrics_collections,
                         updates_collections)


def _share(hits, others, name):
    with name_scope(name) as scope:
        total = apply("Add", [hits, others])
        return array_ops.where(apply("Greater", [total, 0.0]), apply("DivNoNan", [hits, total]), array_ops.zeros_like(hits),
                               name=scope)


def precision(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None,
              metrics_collections: str | Sequence[str] | None = None, updates_collections: str | Sequence[str] | None = None,
              name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of what was predicted true that is."""
    return _share_of_hits("precision", false_positives, labels, predictions, weights, metrics_collections, updates_collections,
                          name)


def recall(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None,
           metrics_collections: str | Sequence[str] | None = None, updates_collections: str | Sequence[str] | None = None,
           name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of what is true that was predicted so."""
    return _share_of_hits("recall", false_negatives, labels, predictions, weights, metrics_collections, updates_collections,
                          name)


# ---- classes ----
def _flat(tensor):
    return array_ops.reshape(tensor, [-1]) if tensor.shape.ndims is None or tensor.shape.ndims > 1 else tensor


def mean_iou(labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None = None,
             metrics_collections: str | Sequence[str] | None = None, updates_collections: str | Sequence[str] | None = None,
             name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean over classes of intersection over union: right over all that are or were taken for the class."""
    with variable_scope(name, "mean_iou", [predictions, labels, weights]):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        labels, predictions = _flat(math_ops.cast(labels, dtypes.int64)), _flat(math_ops.cast(predictions, dtypes.int64))
        weights = None if weights is None else _flat(convert_to_tensor(weights))
        total = metric_variable([num_classes, num_classes], dtypes.float64, name="total_confusion_matrix")
        update = total.assign_add(confusion_matrix(labels, predictions, num_classes, dtypes.float64, weights=weights))
        wrong_and_right = [math_ops.cast(math_ops.reduce_sum(so_far(total), axis), dtypes.float32) for axis in (0, 1)]
        right = math_ops.cast(apply("MatrixDiagPart", [so_far(total)]), dtypes.float32)
        union = wrong_and_right[0] + wrong_and_right[1] - right
        present = apply("NotEqual", [union, 0.0])
        number = math_ops.reduce_sum(math_ops.cast(present, dtypes.float32))
        shares = apply("Div", [right, array_ops.where(present, union, array_ops.ones_like(union))])
        value = array_ops.where(apply("Greater", [number, 0.0]), math_ops.reduce_sum(shares) / number, 0.0, name="mean_iou")
        return collected(value, update, metrics_collections, updates_collections)


def mean_per_class_accuracy(labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None = None,
                            metrics_collections: str | Sequence[str] | None = None,
                            updates_collections: str | Sequence[str] | None = None,
                            name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean over classes of the share of predictions that were right."""
    with variable_scope(name, "mean_accuracy", [predictions, labels, weights]):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        labels = _flat(math_ops.cast(labels, dtypes.int64))
        predictions = _flat(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes], dtypes.float32, name="total")
        count = metric_variable([num_classes], dtypes.float32, name="count")
        number = array_ops.ones([array_ops.size(labels)], dtypes.float32)
        if labels.dtype != predictions.dtype:
            predictions = math_ops.cast(predictions, labels.dtype)
        hits = math_ops.cast(apply("Equal", [predictions, labels]), dtypes.float32)
        if weights is not None:
            weights = math_ops.cast(_flat(convert_to_tensor(weights)), dtypes.float32)
            hits, number = apply("Mul", [hits, weights]), apply("Mul", [number, weights])
        more = scatter_add(total, labels, number)
        further = scatter_add(count, labels, hits)
        value = math_ops.reduce_mean(apply("DivNoNan", [so_far(count), so_far(total)]), name="mean_accuracy")
        update = apply("DivNoNan", [further, more], name="update_op")
        return collected(value, update, metrics_collections, updates_collections)
