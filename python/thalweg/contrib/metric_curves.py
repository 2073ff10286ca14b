# SPDX-License-Identifier: Apache-2.0
"""Measures of tw.contrib.metrics at many thresholds, of all values so far, and of agreement."""
from __future__ import annotations

import collections
import statistics
from typing import TYPE_CHECKING

from thalweg import dtypes, nn
from thalweg.control import control_flow
from thalweg.graph import graph, ops
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.metrics import thresholds as metrics_thresholds
from thalweg.metrics.metric_variables import collected, metric_variable
from thalweg.operations import array_ops, math_ops
from thalweg.operations.broadcast_weights import broadcast_weights
from thalweg.variables import variables
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Operation, Tensor

_SMALL = 1e-7

AucData = collections.namedtuple("AucData", "auc lower upper")
PrecisionRecallData = collections.namedtuple("PrecisionRecallData", "tp fp tn fn precision recall thresholds")


def _share(c, hits, others):
    return apply("Div", [c[hits], c[hits] + c[others] + _SMALL])


def _rate_at(kind, short, hits, others, predictions, labels, thresholds, weights, metrics_collections, updates_collections, name):
    with variable_scope(name, kind + "_at_thresholds", [predictions, labels, weights]):
        kinds = [k for k in ("tp", "fn", "tn", "fp") if k in (hits, others)]
        both = metrics_thresholds.counts_of(labels, convert_to_tensor(predictions), thresholds, weights, kinds)
        value, update = (array_ops.identity(_share(c, hits, others), name=f"{short}_{part}")
                         for c, part in zip(both, ("value", "update_op")))
        return collected(value, update, metrics_collections, updates_collections)


def streaming_false_negative_rate_at_thresholds(predictions: TensorLike, labels: TensorLike, thresholds: Sequence[float],
                                                weights: TensorLike | None = None,
                                                metrics_collections: str | Sequence[str] | None = None,
                                                updates_collections: str | Sequence[str] | None = None,
                                                name: str | None = None) -> tuple[Tensor, Tensor]:
    """Of what is true, the share that scores no more than each threshold."""
    return _rate_at("false_negative_rate", "fnr", "fn", "tp", predictions, labels, thresholds, weights, metrics_collections,
                    updates_collections, name)


def streaming_false_positive_rate_at_thresholds(predictions: TensorLike, labels: TensorLike, thresholds: Sequence[float],
                                                weights: TensorLike | None = None,
                                                metrics_collections: str | Sequence[str] | None = None,
                                                updates_collections: str | Sequence[str] | None = None,
                                                name: str | None = None) -> tuple[Tensor, Tensor]:
    """Of what is false, the share that scores more than each threshold."""
    return _rate_at("false_positive_rate", "fpr", "fp", "tn", predictions, labels, thresholds, weights, metrics_collections,
                    updates_collections, name)


def f1_score(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, num_thresholds: int = 200,
             metrics_collections: str | Sequence[str] | None = None, updates_collections: str | Sequence[str] | None = None,
             name: str | None = None) -> tuple[Tensor, Tensor]:
    """The best harmonic mean of precision and recall that a threshold gives."""
    with variable_scope(name, "f1", (labels, predictions, weights)):
        both = metrics_thresholds.counts_of(labels, convert_to_tensor(predictions), metrics_thresholds.evenly(num_thresholds),
                                            weights, ("tp", "fn", "fp"))

        def best(c):
            precision, recall = _share(c, "tp", "fp"), _share(c, "tp", "fn")
            return math_ops.reduce_max(2.0 * precision * recall / (precision + recall + _SMALL))
        return collected(*map(best, both), metrics_collections, updates_collections)


def precision_at_recall(labels: TensorLike, predictions: TensorLike, target_recall: float, weights: TensorLike | None = None,
                        num_thresholds: int = 200, metrics_collections: str | Sequence[str] | None = None,
                        updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The precision at the threshold whose recall is the nearest to `target_recall`."""
    if target_recall < 0 or target_recall > 1:
        raise ValueError("`target_recall` must be in the range [0, 1].")

    def measure(c, purpose):
        place = math_ops.argmin(apply("Abs", [_share(c, "tp", "fn") - target_recall]), 0)
        return array_ops.gather(_share(c, "tp", "fp"), place, name=purpose)
    return metrics_thresholds.at_threshold("precision_at_recall", measure, labels, predictions, weights, num_thresholds,
                                           metrics_collections, updates_collections, name)


def recall_at_precision(labels: TensorLike, predictions: TensorLike, precision: float, weights: TensorLike | None = None,
                        num_thresholds: int = 200, metrics_collections: str | Sequence[str] | None = None,
                        updates_collections: str | Sequence[str] | None = None, name: str | None = None,
                        strict_mode: bool = False) -> tuple[Tensor, Tensor]:
    """The recall at the threshold whose precision is the nearest to `precision`; in strict mode none below it will do, and the
    recall is 0 where there is none."""
    if not 0 <= precision <= 1:
        raise ValueError("`precision` must be in the range [0, 1].")

    def measure(c, purpose):
        above = _share(c, "tp", "fp") - precision
        distance = apply("Abs", [above])
        fits = apply("GreaterEqual", [above, 0.0])
        if strict_mode:
            distance = array_ops.where(fits, distance, array_ops.ones_like(above) * 2.0)
        recall = array_ops.gather(_share(c, "tp", "fn"), math_ops.argmin(distance, 0))
        if strict_mode:
            recall = array_ops.where(math_ops.reduce_any(fits), recall, array_ops.zeros_like(recall))
        return array_ops.identity(recall, name=purpose)
    return metrics_thresholds.at_threshold("recall_at_precision", measure, labels, predictions, weights, num_thresholds,
                                           metrics_collections, updates_collections, name)


def streaming_curve_points(labels: TensorLike | None = None, predictions: TensorLike | None = None,
                           weights: TensorLike | None = None, num_thresholds: int = 200,
                           metrics_collections: str | Sequence[str] | None = None,
                           updates_collections: str | Sequence[str] | None = None, curve: str = "ROC",
                           name: str | None = None) -> tuple[Tensor, Operation]:
    """[thresholds, 2]: x and y of the ROC or the precision-recall curve at each threshold."""
    with variable_scope(name, "curve_points", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        values, updates = metrics_thresholds.counts_of(labels, convert_to_tensor(predictions),
                                                       metrics_thresholds.evenly(num_thresholds), weights)
        recall = (values["tp"] + _SMALL) / (values["tp"] + values["fn"] + _SMALL)
        if curve == "ROC":
            points = values["fp"] / (values["fp"] + values["tn"] + _SMALL), recall
        else:
            points = recall, (values["tp"] + _SMALL) / (values["tp"] + values["fp"] + _SMALL)
        return collected(array_ops.stack(points, axis=1), ops.group(*updates.values()), metrics_collections,
                         updates_collections)


def precision_recall_at_equal_thresholds(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None,
                                         num_thresholds: int | None = None, use_locking: bool | None = None,
                                         name: str | None = None) -> tuple[PrecisionRecallData, Operation]:
    """(PrecisionRecallData, update): all counts at thresholds that divide [0, 1] evenly, in time linear in the predictions."""
    number = 201 if num_thresholds is None else num_thresholds
    if number < 1:
        raise ValueError(f"num_thresholds must be > 0, {number} given")
    with variable_scope(name, "precision_recall_at_equal_thresholds", (labels, predictions, weights)):
        predictions = convert_to_tensor(predictions)
        places = array_ops.reshape(math_ops.cast(apply("Floor", [predictions * (number - 1)]), dtypes.int32), [-1])
        is_true = array_ops.reshape(math_ops.cast(labels, dtypes.bool), [-1])
        counted = array_ops.ones_like(predictions) if weights is None else \
            broadcast_weights(math_ops.cast(weights, predictions.dtype), predictions)
        counted = array_ops.reshape(math_ops.cast(counted, dtypes.float64), [-1])
        zeros = array_ops.zeros_like(counted)
        parts, updates = [], []
        with variable_scope("variables"):
            kept = [metric_variable([number], dtypes.float64, name=part + "_buckets") for part in ("tp", "fp")]
        for variable, chosen in zip(kept, ((counted, zeros), (zeros, counted))):
            more = apply("UnsortedSegmentSum", [array_ops.where(is_true, *chosen), places, number])
            updates.append(variable.assign_add(more, use_locking=bool(use_locking)))
            parts.append(math_ops.cumsum(variable.value(), reverse=True))
        tp, fp = parts
        tn, fn = fp[0] - fp, tp[0] - tp
        least = ops.constant(1e-10, dtypes.float64)
        precision, recall = (tp / apply("Maximum", [least, tp + other]) for other in (fp, fn))
        found = [math_ops.cast(x, predictions.dtype) for x in (tp, fp, tn, fn, precision, recall)]
        thresholds = math_ops.cast(ops.constant([i / max(number - 1, 1) for i in range(number)], dtypes.float64), predictions.dtype)
        return PrecisionRecallData(*found, thresholds), ops.group(*updates)


def auc_using_histogram(boolean_labels: TensorLike, scores: TensorLike, score_range: Sequence[float], nbins: int = 100,
                        collections: Sequence[str] | None = None, check_shape: bool = True,
                        name: str | None = None) -> tuple[Tensor, Operation]:
    """(value, update): the area under the ROC curve, from how many scores of both kinds fall into each of `nbins`."""
    with variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        scores, labels = convert_to_tensor(scores), convert_to_tensor(boolean_labels)
        if check_shape:
            scores.shape.assert_is_compatible_with(labels.shape)
        keys = [graph.GraphKeys.LOCAL_VARIABLES] if collections is None else list(collections)
        with variable_scope("hist_accumulate"):
            histograms, updates = [], []
            for kind, wanted in (("true", labels), ("false", apply("LogicalNot", [labels]))):
                kept = variables.Variable(array_ops.zeros([nbins], dtypes.int64), trainable=False, collections=keys,
                                          name=f"hist_{kind}_acc")
                those = array_ops.boolean_mask(scores, wanted)
                bins = apply("HistogramFixedWidth", [those, convert_to_tensor(score_range, dtype=scores.dtype), nbins],
                             {"dtype": dtypes.int64})
                updates.append(kept.assign_add(bins))
                histograms.append(math_ops.cast(kept.value(), dtypes.float32))
            update = ops.group(*updates, name="update_op")
        hits, others = histograms
        below = math_ops.cumsum(others, exclusive=True) + others / 2.0  # a tie counts half
        area = apply("Div", [math_ops.reduce_sum(hits * below), math_ops.reduce_sum(hits) * math_ops.reduce_sum(others)], name="auc")
        return area, update


def streaming_concat(values: TensorLike, axis: int = 0, max_size: int | None = None,
                     metrics_collections: str | Sequence[str] | None = None,
                     updates_collections: str | Sequence[str] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """All values so far, one after the other along an axis, up to `max_size`; the update gives how many there are."""
    with variable_scope(name, "streaming_concat", (values,)):
        values = convert_to_tensor(values)
        shape = values.shape
        if shape.ndims is None:
            raise ValueError("`values` must have known rank")
        axis = axis + shape.ndims if axis < 0 else axis
        if not 0 <= axis < shape.ndims:
            raise ValueError(f"axis = {axis} not in [0, {shape.ndims})")
        fixed = [size.value for i, size in enumerate(shape.dims) if i != axis]
        if any(size is None for size in fixed):
            raise ValueError("all dimensions of `values` other than the dimension to concatenate along must have statically "
                             "known size")
        order = [axis, *(i for i in range(shape.ndims) if i != axis)]  # rows along the axis
        array = metric_variable([0, *fixed], values.dtype, validate_shape=False, name="array")
        size = metric_variable([], dtypes.int32, name="size")
        value = array_ops.reshape(array.value(), [-1, *fixed]) if all(fixed) else array.value()
        back = [order.index(i) for i in range(shape.ndims)]
        together = array_ops.concat([value, array_ops.transpose(values, order)], 0)
        if max_size is not None:
            together = together[:max_size]
        kept = apply("Assign", [array._ref(), together], {"validate_shape": False})
        with graph.control_dependencies([kept]):
            update = size.assign(array_ops.shape(together)[0])
        return collected(array_ops.transpose(value, back), update, metrics_collections, updates_collections)


def _area_of(labels, predictions, curve, weights):
    """Under the curve of all predictions, each a threshold; equal ones are one."""
    hits = math_ops.cast(labels, dtypes.float64)
    weights = array_ops.ones_like(hits) if weights is None else weights
    predictions, order = nn.top_k(predictions, k=array_ops.size(predictions))
    hits, weights = array_ops.gather(hits, order), array_ops.gather(weights, order)
    differs = apply("NotEqual", [predictions[:-1], predictions[1:]])
    last_of_equals = array_ops.concat([differs, ops.constant([True])], 0)

    def so_far(x):
        return array_ops.boolean_mask(math_ops.cumsum(x), last_of_equals)
    tp, fp = so_far(hits * weights), so_far((1.0 - hits) * weights)
    recall = tp / tp[-1]
    x, y, start = (fp / fp[-1], recall, 0.0) if curve == "ROC" else (recall, tp / (tp + fp), 1.0)
    x = array_ops.concat([ops.constant([0.0], dtypes.float64), x], 0)
    y = array_ops.concat([ops.constant([start], dtypes.float64), y], 0)
    return math_ops.reduce_sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2.0)


def _kept(parts):
    """All values so far of [(name, values, type)], flat; and the updates."""
    both = [streaming_concat(array_ops.reshape(math_ops.cast(convert_to_tensor(values), dtype), [-1]), name=name)
            for name, values, dtype in parts]
    return [value for value, _ in both], [update for _, update in both]


def _is_of_one_kind(labels):
    positive = math_ops.reduce_sum(labels)
    return apply("LogicalOr", [apply("Equal", [positive, ops.constant(0, dtypes.int64)]),
                               apply("Equal", [positive, array_ops.size(labels, out_type=dtypes.int64)])])


def streaming_dynamic_auc(labels: TensorLike, predictions: TensorLike, curve: str = "ROC",
                          metrics_collections: str | Sequence[str] = (), updates_collections: str | Sequence[str] = (),
                          name: str | None = None, weights: TensorLike | None = None) -> tuple[Tensor, Operation]:
    """The exact area under the curve of all predictions so far, which are kept; 0 where all labels are equal."""
    if curve not in ("PR", "ROC"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with variable_scope(name, "dynamic_auc", [labels, predictions]):
        given = [("concat_preds", predictions, dtypes.float64), ("concat_labels", labels, dtypes.int64)]
        if weights is not None:
            given.append(("concat_weights", weights, dtypes.float64))
        so_far, updates = _kept(given)
        value = control_flow.cond(_is_of_one_kind(so_far[1]), lambda: ops.constant(0.0, dtypes.float64),
                                  lambda: _area_of(so_far[1], so_far[0], curve, so_far[2] if weights is not None else None))
        return collected(value, ops.group(*updates), metrics_collections, updates_collections)


def cohen_kappa(labels: TensorLike, predictions_idx: TensorLike, num_classes: int, weights: TensorLike | None = None,
                metrics_collections: str | Sequence[str] | None = None, updates_collections: str | Sequence[str] | None = None,
                name: str | None = None) -> tuple[Tensor, Tensor]:
    """How much more labels and predictions agree than they would by chance (Cohen 1960)."""
    with variable_scope(name, "cohen_kappa", (labels, predictions_idx, weights)):
        labels, guesses = (array_ops.reshape(math_ops.cast(convert_to_tensor(x), dtypes.int64), [-1])
                           for x in (labels, predictions_idx))
        dtype = dtypes.int64 if weights is None else dtypes.float32
        kept = [metric_variable([num_classes], dtype, name=part) for part in ("po", "pe_row", "pe_col")]
        counted = array_ops.ones_like(labels) if weights is None else \
            broadcast_weights(array_ops.reshape(math_ops.cast(weights, dtype), [-1]), math_ops.cast(labels, dtype))
        agree = array_ops.where(apply("Equal", [labels, guesses]), counted, array_ops.zeros_like(counted))
        updated = [variable.assign_add(apply("UnsortedSegmentSum", [x, places, num_classes]))
                   for variable, x, places in zip(kept, (agree, counted, counted), (labels, labels, guesses))]

        def kappa(parts, purpose):
            both, row, column = (math_ops.cast(x, dtypes.float64) for x in parts)
            total = math_ops.reduce_sum(row)
            chance = apply("DivNoNan", [math_ops.reduce_sum(row * column), total])
            found = apply("DivNoNan", [math_ops.reduce_sum(both) - chance, total - chance])
            return math_ops.cast(found, dtypes.float32, name=purpose)
        return collected(kappa([v.value() for v in kept], "value"), kappa(updated, "update_op"), metrics_collections,
                         updates_collections)


def _places(scores, others, weights):
    """For each score the share of the others' weight that lies below it; what equals it counts half."""
    order = nn.top_k(-others, k=array_ops.size(others)).indices
    ascending = array_ops.expand_dims(array_ops.gather(others, order), 0)
    sums = array_ops.concat([ops.constant([0.0], dtypes.float64), math_ops.cumsum(array_ops.gather(weights, order))], 0)
    ends = [array_ops.gather(sums, apply(bound, [ascending, array_ops.expand_dims(scores, 0)])[0])
            for bound in ("LowerBound", "UpperBound")]
    return (ends[0] + ends[1]) / 2.0 / sums[-1]


def _interval(labels, scores, weights, alpha, logit_transformation):
    """The area, and the ends of its interval by the variance of its parts (DeLong, DeLong, Clarke-Pearson 1988)."""
    is_true = math_ops.cast(labels, dtypes.bool)
    x, wx = array_ops.boolean_mask(scores, is_true), array_ops.boolean_mask(weights, is_true)
    is_false = apply("LogicalNot", [is_true])
    y, wy = array_ops.boolean_mask(scores, is_false), array_ops.boolean_mask(weights, is_false)
    above, below = _places(x, y, wy), 1.0 - _places(y, x, wx)
    area = math_ops.reduce_sum(above * wx) / math_ops.reduce_sum(wx)
    area = apply("Minimum", [apply("Maximum", [area, _SMALL]), 1.0 - _SMALL])

    def variance(part, w):
        total = math_ops.reduce_sum(w)
        spread = math_ops.reduce_sum(w * apply("Square", [part - area]))
        return spread / apply("Maximum", [total - 1.0, _SMALL]) / total
    error = apply("Sqrt", [variance(above, wx) + variance(below, wy)])
    width = statistics.NormalDist().inv_cdf(0.5 + alpha / 2) * error
    if not logit_transformation:
        return area, area - width, area + width
    middle, width = apply("Log", [area / (1.0 - area)]), width / (area * (1.0 - area))
    return area, apply("Sigmoid", [middle - width]), apply("Sigmoid", [middle + width])


def auc_with_confidence_intervals(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None,
                                  alpha: float = 0.95, logit_transformation: bool = True,
                                  metrics_collections: str | Sequence[str] = (), updates_collections: str | Sequence[str] = (),
                                  name: str | None = None) -> tuple[AucData, Operation]:
    """(AucData, update): the exact area under the ROC curve of all predictions so far, which are kept, and where it lies with
    probability `alpha`; zeros where all labels are equal."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:f}")
    with variable_scope(name, "auc_with_confidence_intervals", [labels, predictions, weights]):
        predictions = math_ops.cast(convert_to_tensor(predictions), dtypes.float64)
        weights = array_ops.ones_like(predictions) if weights is None else \
            broadcast_weights(math_ops.cast(weights, dtypes.float64), predictions)
        (scores, truth, counted), updates = _kept([("concat_preds", predictions, dtypes.float64),
                                                   ("concat_labels", labels, dtypes.int64),
                                                   ("concat_weights", weights, dtypes.float64)])
        found = control_flow.cond(_is_of_one_kind(truth), lambda: [ops.constant(0.0, dtypes.float64)] * 3,
                                  lambda: list(_interval(truth, scores, counted, alpha, logit_transformation)))
        data = AucData(*[math_ops.cast(x, dtypes.float32) for x in found])
        return collected(data, ops.group(*updates), metrics_collections, updates_collections)
