# SPDX-License-Identifier: Apache-2.0
"""Measures of scores in [0, 1] at several thresholds: what each counts as positive, and areas under curves."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import graph
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.metrics.metric_variables import aligned, collected, metric_variable, so_far, truth_values
from thalweg.operations import array_ops, checks, math_ops
from thalweg.operations.broadcast_weights import broadcast_weights
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor

_KINDS = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}
_SMALL = 1e-7


def counts_of(labels: TensorLike, predictions: TensorLike, thresholds: Sequence[float], weights: TensorLike | None = None,
              kinds: Sequence[str] = ("tp", "fn", "tn", "fp")) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """({kind: values}, {kind: updates}) of how often scores above each threshold were right and wrong."""
    with graph.control_dependencies([
            checks.assert_greater_equal(predictions, math_ops.cast(0.0, predictions.dtype),
                                        message="predictions must be in [0, 1]"),
            checks.assert_less_equal(predictions, math_ops.cast(1.0, predictions.dtype),
                                     message="predictions must be in [0, 1]")]):
        scores, labels, weights = aligned(math_ops.cast(predictions, dtypes.float32), truth_values(labels), weights)
    number = len(thresholds)
    is_true = array_ops.reshape(labels, [1, -1])
    above = apply("Greater", [array_ops.reshape(scores, [1, -1]),
                              array_ops.expand_dims(constant(thresholds, dtypes.float32), 1)])
    if weights is not None:
        weights = array_ops.reshape(broadcast_weights(math_ops.cast(weights, dtypes.float32), scores), [1, -1])
    values, updates = {}, {}
    for kind in kinds:
        wanted = is_true if kind in ("tp", "fn") else apply("LogicalNot", [is_true])
        found = above if kind in ("tp", "fp") else apply("LogicalNot", [above])
        counted = math_ops.cast(apply("LogicalAnd", [wanted, found]), dtypes.float32)
        counted = counted if weights is None else apply("Mul", [counted, weights])
        variable = metric_variable([number], dtypes.float32, name=_KINDS[kind])
        updates[kind] = variable.assign_add(math_ops.reduce_sum(counted, 1))
        values[kind] = so_far(variable)
    return values, updates


def _one_count(kind):
    name_of_kind = _KINDS[kind]

    def measure(labels: TensorLike, predictions: TensorLike, thresholds: Sequence[float], weights: TensorLike | None = None,
                metrics_collections: str | Sequence[str] | None = None, updates_collections: str | Sequence[str] | None = None,
                name: str | None = None) -> tuple[Tensor, Tensor]:
        with variable_scope(name, name_of_kind, [predictions, labels, weights]):
            predictions = convert_to_tensor(predictions)
            values, updates = counts_of(labels, predictions, thresholds, weights, (kind,))
            return collected(values[kind], updates[kind], metrics_collections, updates_collections)
    measure.__name__ = measure.__qualname__ = name_of_kind + "_at_thresholds"
    measure.__doc__ = f"How many {name_of_kind.replace('_', ' ')} there were so far, at each threshold."
    return measure


true_positives_at_thresholds, false_negatives_at_thresholds = _one_count("tp"), _one_count("fn")
true_negatives_at_thresholds, false_positives_at_thresholds = _one_count("tn"), _one_count("fp")


def _share_at_thresholds(kind, other, labels, predictions, thresholds, weights, metrics_collections, updates_collections, name):
    with variable_scope(name, f"{kind}_at_thresholds", [predictions, labels, weights]):
        predictions = convert_to_tensor(predictions)
        values, updates = counts_of(labels, predictions, thresholds, weights, ("tp", other))

        def share(counts, purpose):
            return apply("Div", [counts["tp"], _SMALL + counts["tp"] + counts[other]], name=f"{kind}_{purpose}")
        return collected(share(values, "value"), share(updates, "update_op"), metrics_collections, updates_collections)


def precision_at_thresholds(labels: TensorLike, predictions: TensorLike, thresholds: Sequence[float],
                            weights: TensorLike | None = None, metrics_collections: str | Sequence[str] | None = None,
                            updates_collections: str | Sequence[str] | None = None,
                            name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of what scores above each threshold that is true."""
    return _share_at_thresholds("precision", "fp", labels, predictions, thresholds, weights, metrics_collections,
                                updates_collections, name)


def recall_at_thresholds(labels: TensorLike, predictions: TensorLike, thresholds: Sequence[float],
                         weights: TensorLike | None = None, metrics_collections: str | Sequence[str] | None = None,
                         updates_collections: str | Sequence[str] | None = None,
                         name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of what is true that scores above each threshold."""
    return _share_at_thresholds("recall", "fn", labels, predictions, thresholds, weights, metrics_collections,
                                updates_collections, name)


def evenly(number: int) -> list[float]:
    """Evenly from just below 0 to just above 1."""
    return [-_SMALL, *((i + 1) / (number - 1) for i in range(number - 2)), 1.0 + _SMALL]


# ---- areas ----
def _interpolated_area(c):
    """Under precision and recall, with precision between two thresholds as the counts between them give it."""
    more_hits = c["tp"][:-1] - c["tp"][1:]
    found = c["tp"] + c["fp"]
    slope = apply("DivNoNan", [more_hits, apply("Maximum", [found[:-1] - found[1:], 0.0])])
    start = c["tp"][1:] - apply("Mul", [slope, found[1:]])
    both = apply("LogicalAnd", [apply("Greater", [found[:-1], 0.0]), apply("Greater", [found[1:], 0.0])])
    ratio = array_ops.where(both, apply("DivNoNan", [found[:-1], apply("Maximum", [found[1:], 0.0])]),
                            array_ops.ones_like(found[1:]))
    area = apply("Mul", [slope, more_hits + apply("Mul", [start, apply("Log", [ratio])])])
    return math_ops.reduce_sum(apply("DivNoNan", [area, apply("Maximum", [c["tp"][1:] + c["fn"][1:], 0.0])]),
                               name="interpolate_pr_auc")


def _area(c, curve, method, name):
    """Under the curve through the points of all thresholds."""
    if method == "careful_interpolation" and curve == "PR":
        return _interpolated_area(c)
    small = 1.0e-6
    recall = apply("Div", [c["tp"] + small, c["tp"] + c["fn"] + small])
    if curve == "ROC":
        x, y = apply("Div", [c["fp"], c["fp"] + c["tn"] + small]), recall
    else:
        x, y = recall, apply("Div", [c["tp"] + small, c["tp"] + c["fp"] + small])
    widths = x[:-1] - x[1:]
    if method in ("trapezoidal", "careful_interpolation"):
        heights = (y[:-1] + y[1:]) / 2.0
    elif method in ("minoring", "majoring"):
        heights = apply("Minimum" if method == "minoring" else "Maximum", [y[:-1], y[1:]])
    else:
        raise ValueError(f"Invalid summation_method: {method}")
    return math_ops.reduce_sum(apply("Mul", [widths, heights]), name=name)


def auc(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, num_thresholds: int = 200,
        metrics_collections: str | Sequence[str] | None = None, updates_collections: str | Sequence[str] | None = None,
        curve: str = "ROC", name: str | None = None, summation_method: str = "trapezoidal",
        thresholds: Sequence[float] | None = None) -> tuple[Tensor, Tensor]:
    """The area under the ROC or the precision-recall curve, by sums over thresholds."""
    with variable_scope(name, "auc", [labels, predictions, weights]):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        predictions = convert_to_tensor(predictions)
        given = evenly(num_thresholds) if thresholds is None else [-_SMALL, *sorted(thresholds), 1.0 + _SMALL]
        values, updates = counts_of(labels, predictions, given, weights)
        return collected(_area(values, curve, summation_method, "value"),
                         _area(updates, curve, summation_method, "update_op"), metrics_collections, updates_collections)


# ---- one measure where another has a value ----
def _share(c, hits, others):
    return apply("Div", [c[hits], c[hits] + c[others] + _SMALL])


def sensitivity_at_specificity(labels: TensorLike, predictions: TensorLike, specificity: float, weights: TensorLike | None = None,
                               num_thresholds: int = 200, metrics_collections: str | Sequence[str] | None = None,
                               updates_collections: str | Sequence[str] | None = None,
                               name: str | None = None) -> tuple[Tensor, Tensor]:
    """The recall at the threshold whose share of true negatives is the nearest to `specificity`."""
    if specificity < 0 or specificity > 1:
        raise ValueError("`specificity` must be in the range [0, 1].")

    def measure(c, purpose):
        found = _share(c, "tn", "fp")
        place = math_ops.cast(math_ops.argmin(apply("Abs", [found - specificity]), 0), dtypes.int32)
        return apply("Div", [c["tp"][place], c["tp"][place] + c["fn"][place] + _SMALL], name=purpose)
    return at_threshold("sensitivity_at_specificity", measure, labels, predictions, weights, num_thresholds, metrics_collections,
               updates_collections, name)


def specificity_at_sensitivity(labels: TensorLike, predictions: TensorLike, sensitivity: float, weights: TensorLike | None = None,
                               num_thresholds: int = 200, metrics_collections: str | Sequence[str] | None = None,
                               updates_collections: str | Sequence[str] | None = None,
                               name: str | None = None) -> tuple[Tensor, Tensor]:
    """The share of true negatives at the highest threshold whose recall is the nearest to `sensitivity`."""
    if sensitivity < 0 or sensitivity > 1:
        raise ValueError("`sensitivity` must be in the range [0, 1].")

    def measure(c, purpose):
        distances = apply("Abs", [_share(c, "tp", "fn") - sensitivity])
        nearest = math_ops.cast(apply("Equal", [distances, math_ops.reduce_min(distances)]), dtypes.int64)
        place = math_ops.cast(math_ops.argmax(math_ops.cumsum(nearest), 0), dtypes.int32)
        return apply("Div", [c["tn"][place], c["tn"][place] + c["fp"][place] + _SMALL], name=purpose)
    return at_threshold("specificity_at_sensitivity", measure, labels, predictions, weights, num_thresholds, metrics_collections,
               updates_collections, name)


def at_threshold(kind: str, measure: Callable[[dict[str, Tensor], str], Tensor], labels: TensorLike, predictions: TensorLike,
                 weights: TensorLike, num_thresholds: int, metrics_collections: str | Sequence[str],
                 updates_collections: str | Sequence[str], name: str) -> tuple[Tensor, Tensor]:
    """(value, update operation) of what `measure` makes of the counts at evenly spaced thresholds."""
    with variable_scope(name, kind, [predictions, labels, weights]):
        predictions = convert_to_tensor(predictions)
        values, updates = counts_of(labels, predictions, evenly(num_thresholds), weights)
        return collected(measure(values, "value"), measure(updates, "update_op"), metrics_collections, updates_collections)
