# SPDX-License-Identifier: Apache-2.0
"""Measures over many batches: tw.metrics. Each gives (value, update operation) over local variables."""
from thalweg import array_ops, dtypes, graph, math_ops
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
        graph.get_default_graph().add_to_collections(metrics_collections or [], value)
        graph.get_default_graph().add_to_collections(updates_collections or [], update)
        return value, update


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


def mean_absolute_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The mean of |labels - predictions| so far."""
    with name_scope(None, "absolute"):
        errors = apply("Abs", [convert_to_tensor(predictions) - labels])
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")
