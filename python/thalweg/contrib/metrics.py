# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.metrics: tw.metrics in their older form, predictions before labels, and a few that only stand here."""
from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING

from thalweg import dtypes, metrics, nn, sets
from thalweg.base import names
from thalweg.contrib.metric_curves import (  # noqa: F401
    auc_using_histogram,
    auc_with_confidence_intervals,
    cohen_kappa,
    f1_score,
    precision_at_recall,
    precision_recall_at_equal_thresholds,
    recall_at_precision,
    streaming_concat,
    streaming_curve_points,
    streaming_dynamic_auc,
    streaming_false_negative_rate_at_thresholds,
    streaming_false_positive_rate_at_thresholds,
)
from thalweg.graph import graph
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.metrics import ranked as metrics_ranked, thresholds as metrics_thresholds
from thalweg.metrics.metric_variables import aligned, collected, metric_variable
from thalweg.operations import array_ops, math_ops
from thalweg.operations.broadcast_weights import broadcast_weights
from thalweg.operations.confusion import confusion_matrix  # noqa: F401
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor

set_difference, set_intersection, set_size, set_union = sets.difference, sets.intersection, sets.size, sets.union

# name here, name in tw.metrics, arguments here; those of another name there as here=there. COLLECTIONS and name come last.
_SAME = """
sparse_recall_at_top_k recall_at_top_k labels top_k_predictions=predictions_idx class_id:None weights:None
streaming_accuracy accuracy predictions labels weights:None
streaming_auc auc predictions labels weights:None num_thresholds:200 COLLECTIONS curve:'ROC'
streaming_false_negatives false_negatives predictions labels weights:None
streaming_false_positives false_positives predictions labels weights:None
streaming_mean mean values weights:None
streaming_mean_absolute_error mean_absolute_error predictions labels weights:None
streaming_mean_iou mean_iou predictions labels num_classes weights:None
streaming_mean_relative_error mean_relative_error predictions labels normalizer weights:None
streaming_mean_squared_error mean_squared_error predictions labels weights:None
streaming_mean_tensor mean_tensor values weights:None
streaming_percentage_less percentage_below values threshold weights:None
streaming_precision precision predictions labels weights:None
streaming_precision_at_thresholds precision_at_thresholds predictions labels thresholds weights:None
streaming_recall recall predictions labels weights:None
streaming_recall_at_thresholds recall_at_thresholds predictions labels thresholds weights:None
streaming_root_mean_squared_error root_mean_squared_error predictions labels weights:None
streaming_sensitivity_at_specificity sensitivity_at_specificity predictions labels specificity weights:None num_thresholds:200
streaming_sparse_average_precision_at_k average_precision_at_k predictions labels k weights:None
streaming_sparse_precision_at_k precision_at_k predictions labels k class_id:None weights:None
streaming_sparse_precision_at_top_k precision_at_top_k top_k_predictions=predictions_idx labels class_id:None weights:None
streaming_sparse_recall_at_k recall_at_k predictions labels k class_id:None weights:None
streaming_specificity_at_sensitivity specificity_at_sensitivity predictions labels sensitivity weights:None num_thresholds:200
streaming_true_negatives true_negatives predictions labels weights:None
streaming_true_positives true_positives predictions labels weights:None
"""


_COLLECTIONS = "str | Sequence[str]"
_TYPES = {"num_thresholds": "int", "num_classes": "int", "k": "int", "class_id": "int", "thresholds": "Sequence[float]", "threshold": "float",
          "specificity": "float", "sensitivity": "float", "curve": "str", "name": "str", "metrics_collections": _COLLECTIONS,
          "updates_collections": _COLLECTIONS}  # all others are tensors


def _parameter(name, default):
    """A parameter; `default` is the text of its default, or empty."""
    kind, value = _TYPES.get(name, "TensorLike"), ast.literal_eval(default) if default else inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value,
                             annotation=kind + " | None" if value is None else kind)


def _made(row):
    """The function of a row: it calls the one of tw.metrics with the arguments' names."""
    name, there, *words = row.split()
    collections = "metrics_collections:None updates_collections:None"
    words = " ".join([*words, "name:None"] if "COLLECTIONS" in words else [*words, "COLLECTIONS", "name:None"])
    words = words.replace("COLLECTIONS", collections).split()
    renamed, parameters = {}, []
    for word in words:
        argument, _, default = word.partition(":")
        here, _, other = argument.partition("=")
        renamed[here] = other or here
        parameters.append(_parameter(here, default))
    signature = inspect.Signature(parameters, return_annotation="tuple[Tensor, Tensor]")

    def measure(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        return getattr(metrics, there)(**{renamed[argument]: value for argument, value in given.items()})

    measure.__name__ = measure.__qualname__ = name
    measure.__doc__, measure.__signature__ = f"tw.metrics.{there} with arguments in the older order.", signature
    return measure


globals().update({row.split()[0]: _made(row) for row in _SAME.strip().splitlines()})


def _counter(kind):
    def measure(predictions: TensorLike, labels: TensorLike, thresholds: Sequence[float],
                weights: TensorLike | None = None) -> tuple[Tensor, Tensor]:
        values, updates = metrics_thresholds.counts_of(labels, convert_to_tensor(predictions), thresholds, weights, (kind,))
        return values[kind], updates[kind]
    measure.__doc__ = "How many there were so far, at each threshold."
    return measure


streaming_true_positives_at_thresholds, streaming_false_negatives_at_thresholds = _counter("tp"), _counter("fn")
streaming_true_negatives_at_thresholds, streaming_false_positives_at_thresholds = _counter("tn"), _counter("fp")


def accuracy(predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None, name: str | None = None) -> Tensor:
    """The share of predictions that equal their labels, of these alone."""
    with variable_scope(name, "accuracy", [predictions, labels]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        if predictions.dtype != labels.dtype:
            raise ValueError(f"dtypes of predictions and labels should match, given: predictions {predictions.dtype} and labels "
                             f"{labels.dtype}")
        predictions.shape.assert_is_compatible_with(labels.shape)
        right = math_ops.cast(math_ops.equal(predictions, labels), dtypes.float32)
        if weights is None:
            return math_ops.reduce_mean(right)
        weights = math_ops.cast(weights, dtypes.float32)
        return math_ops.reduce_sum(right * weights) / math_ops.reduce_sum(array_ops.ones_like(right) * weights)


def streaming_mean_cosine_distance(predictions: TensorLike, labels: TensorLike, dim: int, weights: TensorLike | None = None,
                                   metrics_collections: str | Sequence[str] | None = None,
                                   updates_collections: str | Sequence[str] | None = None,
                                   name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of 1 - predictions . labels along a dimension."""
    return metrics.mean_cosine_distance(labels, predictions, dim, weights, metrics_collections, updates_collections,
                                        name or "mean_cosine_distance")


def streaming_sparse_average_precision_at_top_k(top_k_predictions: TensorLike, labels: TensorLike,
                                                weights: TensorLike | None = None,
                                                metrics_collections: str | Sequence[str] | None = None,
                                                updates_collections: str | Sequence[str] | None = None,
                                                name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean over examples of the average precision of their ranked classes."""
    return metrics_ranked.average_precision_at_top_k(labels, top_k_predictions, weights, metrics_collections, updates_collections,
                                                     name)


def streaming_recall_at_k(predictions: TensorLike, labels: TensorLike, k: int, weights: TensorLike | None = None,
                          metrics_collections: str | Sequence[str] | None = None,
                          updates_collections: str | Sequence[str] | None = None,
                          name: str | None = None) -> tuple[Tensor, Tensor]:
    """How often the label [batch] is among the k best predictions."""
    return metrics.mean(math_ops.cast(nn.in_top_k(predictions, labels, k), dtypes.float32), weights, metrics_collections,
                        updates_collections, name or f"recall_at_{k}")


def _rate(kind, hits, others, predictions, labels, weights, collections, name):
    """hits / (hits + others), both metrics of counts."""
    with variable_scope(name, kind, [predictions, labels, weights]):
        pairs = [getattr(metrics, count)(labels, predictions, weights) for count in (hits, others)]
        value, update = (apply("DivNoNan", [some, some + rest], name=part)
                         for part, some, rest in zip(("value", "update_op"), pairs[0], pairs[1]))
        return collected(value, update, *collections)


def streaming_false_positive_rate(predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None,
                                  metrics_collections: str | Sequence[str] | None = None,
                                  updates_collections: str | Sequence[str] | None = None,
                                  name: str | None = None) -> tuple[Tensor, Tensor]:
    """Of what is false, the share that was predicted true."""
    return _rate("false_positive_rate", "false_positives", "true_negatives", predictions, labels, weights,
                 (metrics_collections, updates_collections), name)


def streaming_false_negative_rate(predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None,
                                  metrics_collections: str | Sequence[str] | None = None,
                                  updates_collections: str | Sequence[str] | None = None,
                                  name: str | None = None) -> tuple[Tensor, Tensor]:
    """Of what is true, the share that was predicted false."""
    return _rate("false_negative_rate", "false_negatives", "true_positives", predictions, labels, weights,
                 (metrics_collections, updates_collections), name)


def count(values: TensorLike, weights: TensorLike | None = None, metrics_collections: str | Sequence[str] | None = None,
          updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """How many values there were, or the sum of their weights."""
    with variable_scope(name, "count", [values, weights]):
        total = metric_variable([], dtypes.float32, name="count")
        if weights is None:
            number = math_ops.cast(array_ops.size(values), dtypes.float32)
        else:
            values, _, weights = aligned(values, None, weights)
            number = math_ops.reduce_sum(broadcast_weights(math_ops.cast(weights, dtypes.float32), values))
        with graph.control_dependencies([convert_to_tensor(values)]):
            update = total.assign_add(number)
        return collected(total.value(), update, metrics_collections, updates_collections)


def _joint(predictions, labels, weights):
    """Of a batch: the number, both means, and the sum of the products of what differs from them."""
    if weights is None:
        number = math_ops.cast(array_ops.size(labels), dtypes.float32)
        weights = array_ops.ones_like(labels)
    else:
        weights = broadcast_weights(math_ops.cast(weights, dtypes.float32), labels)
        number = math_ops.reduce_sum(weights)
    means = [apply("DivNoNan", [math_ops.reduce_sum(x * weights), number]) for x in (predictions, labels)]
    return number, *means, math_ops.reduce_sum((predictions - means[0]) * (labels - means[1]) * weights)


def streaming_covariance(predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None,
                         metrics_collections: str | Sequence[str] | None = None,
                         updates_collections: str | Sequence[str] | None = None,
                         name: str | None = None) -> tuple[Tensor, Tensor]:
    """The unbiased covariance of all predictions and labels so far; NaN for fewer than two (Chan, Golub, LeVeque 1979)."""
    with variable_scope(name, "covariance", [predictions, labels, weights]):
        predictions, labels = math_ops.cast(predictions, dtypes.float32), math_ops.cast(labels, dtypes.float32)
        predictions, labels, weights = aligned(predictions, labels, weights)
        predictions.shape.assert_is_compatible_with(labels.shape)
        kept = [metric_variable([], dtypes.float32, name=part) for part in ("count", "mean_prediction", "mean_label", "comoment")]
        seen, mean_prediction, mean_label, comoment = [array_ops.identity(v.value()) for v in kept]
        number, batch_prediction, batch_label, batch_comoment = _joint(predictions, labels, weights)
        together = seen + number
        share = apply("DivNoNan", [number, together])
        more = [together, mean_prediction + (batch_prediction - mean_prediction) * share,
                mean_label + (batch_label - mean_label) * share,
                comoment + batch_comoment + (batch_prediction - mean_prediction) * (batch_label - mean_label) * seen * share]
        with graph.control_dependencies(more):  # all are read before one changes
            updated = [v.assign(new) for v, new in zip(kept, more)]
        value = _unbiased(kept[3].value(), kept[0].value(), "covariance")
        with graph.control_dependencies(updated):
            update = _unbiased(updated[3], updated[0], "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def _unbiased(comoment, number, name):
    nan = array_ops.fill(array_ops.shape(number), float("nan"))
    return array_ops.where(apply("Less", [number, 2.0]), nan, comoment / (number - 1), name=name)


def streaming_pearson_correlation(predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None,
                                  metrics_collections: str | Sequence[str] | None = None,
                                  updates_collections: str | Sequence[str] | None = None,
                                  name: str | None = None) -> tuple[Tensor, Tensor]:
    """The correlation of all predictions and labels so far."""
    with variable_scope(name, "pearson_r", [predictions, labels, weights]):
        pairs = [streaming_covariance(x, y, weights, name=part) for x, y, part in (
            (predictions, labels, "covariance"), (predictions, predictions, "variance_predictions"),
            (labels, labels, "variance_labels"))]
        value, update = (both / (apply("Sqrt", [first]) * apply("Sqrt", [second])) for both, first, second in zip(*pairs))
        return collected(array_ops.identity(value, name="pearson_r"), array_ops.identity(update, name="update_op"), metrics_collections,
                         updates_collections)


def aggregate_metrics(*value_update_tuples: tuple[Tensor, Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """(values, updates) of metrics."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: Mapping[str, tuple[Tensor, Tensor]]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """({name: value}, {name: update}) of {name: metric}."""
    values, updates = zip(*names_to_tuples.values())
    return dict(zip(names_to_tuples, values)), dict(zip(names_to_tuples, updates))


names.complete(globals())
