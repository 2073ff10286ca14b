# SPDX-License-Identifier: Apache-2.0
"""Measures over many batches: tw.metrics. Each gives (value, update operation) over local variables."""
from thalweg import array_ops, dtypes, graph, math_ops, names
from thalweg.graph import GraphKeys, name_scope
from thalweg.ops import apply, convert_to_tensor
from thalweg.variable_scopes import variable_scope
from thalweg.variables import Variable


def _counter(name):
    return Variable(array_ops.zeros([]), trainable=False, name=name,
                    collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES])


def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The (weighted) mean of all values so far."""
    with variable_scope(name, "mean"):
        total, count = _counter("total"), _counter("count")
        values = math_ops.cast(convert_to_tensor(values), dtypes.float32)
        if weights is None:
            number = math_ops.cast(array_ops.size(values), dtypes.float32)
        else:
            weights = math_ops.cast(convert_to_tensor(weights), dtypes.float32) * array_ops.ones_like(values)
            values, number = values * weights, math_ops.reduce_sum(weights)
        more, further = total.assign_add(math_ops.reduce_sum(values)), count.assign_add(number)
        value = apply("DivNoNan", [total.value(), count.value()], name="value")
        update = apply("DivNoNan", [more, further], name="update_op")
        return _collected(value, update, metrics_collections, updates_collections)


def accuracy(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The share of predictions so far that were right."""
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    labels = math_ops.cast(labels, predictions.dtype.base_dtype)
    hits = math_ops.cast(apply("Equal", [predictions, labels]), dtypes.float32)
    return mean(hits, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The mean of (labels - predictions) ** 2 so far."""
    errors = apply("SquaredDifference", [convert_to_tensor(predictions), convert_to_tensor(labels)])
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


def root_mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The square root of the mean of (labels - predictions) ** 2 so far."""
    value, update = mean_squared_error(labels, predictions, weights, None, None, name or "root_mean_squared_error")
    return _collected(apply("Sqrt", [value]), apply("Sqrt", [update]), metrics_collections, updates_collections)


def _collected(value, update, metrics_collections, updates_collections):
    graph.get_default_graph().add_to_collections(metrics_collections or [], value)
    graph.get_default_graph().add_to_collections(updates_collections or [], update)
    return value, update


def _share_of_hits(name, labels, predictions, other, weights, metrics_collections, updates_collections):
    """Hits / (hits + others), where `other` says which of the elements that are no hits count."""
    with variable_scope(name, name):
        labels = math_ops.cast(convert_to_tensor(labels), dtypes.bool)
        predictions = math_ops.cast(convert_to_tensor(predictions), dtypes.bool)
        parts = []
        for part, chosen in (("true_positives", apply("LogicalAnd", [labels, predictions])),
                             (other, apply("LogicalAnd", [apply("LogicalNot", [labels]), predictions]
                                           if other == "false_positives" else
                                           [labels, apply("LogicalNot", [predictions])]))):
            counted = math_ops.cast(chosen, dtypes.float32)
            if weights is not None:
                counted = counted * math_ops.cast(convert_to_tensor(weights), dtypes.float32)
            counter = _counter(part)
            parts.append((counter.value(), counter.assign_add(math_ops.reduce_sum(counted))))
        (hits, more_hits), (others, more_others) = parts
        return _collected(apply("DivNoNan", [hits, hits + others], name="value"),
                          apply("DivNoNan", [more_hits, more_hits + more_others], name="update_op"),
                          metrics_collections, updates_collections)


def precision(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The share of what was predicted true that is."""
    return _share_of_hits(name or "precision", labels, predictions, "false_positives", weights, metrics_collections,
                          updates_collections)


def recall(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The share of what is true that was predicted so."""
    return _share_of_hits(name or "recall", labels, predictions, "false_negatives", weights, metrics_collections,
                          updates_collections)


def mean_absolute_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The mean of |labels - predictions| so far."""
    with name_scope(None, "absolute"):
        errors = apply("Abs", [convert_to_tensor(predictions) - labels])
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


names.complete(globals())
