# SPDX-License-Identifier: Apache-2.0
"""Cases of tf.metrics: see symbol_cases.py. Each sees two batches, then tells its value and its local variables."""
import numpy as np
from symbol_cases import CASES, fails, numbers

WANTED = np.array([[1, 0, 1, 1], [0, 0, 1, 0]], np.float32)
SCORES = np.array([[0.2, 0.6, 0.7, 0.9], [0.1, 0.55, 0.35, 0.8]], np.float32)
WEIGHTS = np.array([[0.5, 1, 2, 1], [1, 0, 3, 0.25]], np.float32)
CLASSES = np.array([[1, 0, 2, 1], [0, 2, 2, 0]], np.int64)
GUESSES = np.array([[1, 1, 2, 0], [0, 2, 1, 0]], np.int64)
LABELS = np.array([[[1, 2], [0, 3], [2, 2]], [[3, 1], [1, 0], [0, 2]]], np.int64)
RANKED = numbers(2, 3, 4, start=0.4)


def measure(name, make, *data, weights=None, names=True):
    """A case of a metric over the batches of `data`, plain and with weights."""
    def build(tf):
        found = []
        for given in [None] if weights is None else [None, weights]:
            batch = tf.Variable(0, trainable=False, name="batch")
            arrays = [tf.gather(tf.constant(d), batch) for d in data]
            more = {} if given is None else {"weights": tf.gather(tf.constant(given), batch)}
            value, update = make(tf)(*arrays, metrics_collections="values", updates_collections=["updates"], **more)
            found += [update, batch.assign_add(1), update, value, str(value.dtype.name), str(value.shape)]
        if names:
            found += [v.name for v in tf.local_variables()]
        return found + [len(tf.get_collection("values")), len(tf.get_collection("updates")),
                        len(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES))]
    CASES["metrics__" + name] = build


for kind in ("accuracy", "precision", "recall", "true_positives", "true_negatives", "false_positives", "false_negatives"):
    measure(kind, lambda tf, kind=kind: getattr(tf.metrics, kind), WANTED, np.round(SCORES), weights=WEIGHTS)
for kind in ("auc", "mean_absolute_error", "mean_squared_error", "root_mean_squared_error"):
    measure(kind, lambda tf, kind=kind: getattr(tf.metrics, kind), WANTED, SCORES, weights=WEIGHTS)
for kind in ("false_negatives", "false_positives", "true_negatives", "true_positives", "precision", "recall"):
    measure(kind + "_at_thresholds", lambda tf, kind=kind: lambda labels, predictions, **more: getattr(
        tf.metrics, kind + "_at_thresholds")(labels, predictions, [0.15, 0.5, 0.85], **more), WANTED, SCORES, weights=WEIGHTS)
for curve in ("ROC", "PR"):
    for method in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        measure("auc___%s_%s" % (curve, method), lambda tf, curve=curve, method=method: lambda labels, predictions, **more:
                tf.metrics.auc(labels, predictions, curve=curve, summation_method=method, num_thresholds=20, **more),
                WANTED, SCORES, weights=WEIGHTS)
for kind in ("sensitivity_at_specificity", "specificity_at_sensitivity"):
    measure(kind, lambda tf, kind=kind: lambda labels, predictions, **more: getattr(tf.metrics, kind)(
        labels, predictions, 0.6, num_thresholds=11, **more), WANTED, SCORES, weights=WEIGHTS)
measure("mean", lambda tf: tf.metrics.mean, SCORES, weights=WEIGHTS)
measure("mean___of_whole_numbers", lambda tf: tf.metrics.mean, CLASSES)
measure("mean_tensor", lambda tf: tf.metrics.mean_tensor, SCORES, weights=WEIGHTS)
measure("percentage_below", lambda tf: lambda values, **more: tf.metrics.percentage_below(values, 0.58, **more), SCORES,
        weights=WEIGHTS)
measure("mean_relative_error", lambda tf: lambda labels, predictions, **more: tf.metrics.mean_relative_error(
    labels, predictions, tf.constant([0, 1, 2, 4.0]), **more), WANTED, SCORES, weights=WEIGHTS)
measure("mean_cosine_distance", lambda tf: lambda labels, predictions, **more: tf.metrics.mean_cosine_distance(
    tf.reshape(labels, [2, 2]), tf.reshape(predictions, [2, 2]), 1, **more), WANTED, SCORES)
measure("mean_iou", lambda tf: lambda labels, predictions, **more: tf.metrics.mean_iou(labels, predictions, 3, **more), CLASSES,
        GUESSES, weights=WEIGHTS)
measure("mean_per_class_accuracy", lambda tf: lambda labels, predictions, **more: tf.metrics.mean_per_class_accuracy(
    labels, predictions, 3, **more), CLASSES, GUESSES, weights=WEIGHTS)
for kind in ("precision_at_k", "recall_at_k", "sparse_precision_at_k"):
    measure(kind, lambda tf, kind=kind: lambda labels, predictions, **more: getattr(tf.metrics, kind)(
        labels, predictions, 2, **more), LABELS, RANKED, weights=WEIGHTS[:, :3].copy())
    measure(kind + "___of_a_class", lambda tf, kind=kind: lambda labels, predictions, **more: getattr(tf.metrics, kind)(
        labels, predictions, 2, class_id=2, **more), LABELS, RANKED, weights=WEIGHTS[:, :3].copy())
for kind in ("average_precision_at_k", "sparse_average_precision_at_k"):
    measure(kind, lambda tf, kind=kind: lambda labels, predictions, **more: getattr(tf.metrics, kind)(
        labels, predictions, 3, **more), LABELS, RANKED, weights=WEIGHTS[:, :3].copy(), names=False)
for kind in ("precision_at_top_k", "recall_at_top_k"):
    measure(kind, lambda tf, kind=kind: lambda labels, guesses, **more: getattr(tf.metrics, kind)(
        labels, guesses, **more), LABELS, LABELS[:, ::-1].copy(), weights=WEIGHTS[:, :3].copy())


def with_sparse_labels(tf):
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 2, 3], tf.int64), [2, 2])
    scores = tf.constant(numbers(2, 4, start=1.3))
    found = [tf.metrics.recall_at_k(labels, scores, 2)[1], tf.metrics.precision_at_k(labels, scores, 2)[1],
             tf.metrics.average_precision_at_k(labels, scores, 3)[1], tf.metrics.recall_at_k(labels, scores, 2, class_id=3)[1]]
    return found


def refused(tf):
    """Arguments that do not fit."""
    labels, scores, m = tf.constant(WANTED[0]), tf.constant(SCORES[0]), tf.metrics
    return [fails(tf, lambda: m.accuracy([1, 2], [1, 2, 3])), fails(tf, lambda: m.mean([1, 2.0], weights=[1.0, 2, 3])),
            fails(tf, lambda: m.precision([1, 2.0], [1.0, 2, 3])), fails(tf, lambda: m.auc(labels, scores, curve="X")),
            fails(tf, lambda: m.auc(labels, scores, summation_method="X")),
            fails(tf, lambda: m.sensitivity_at_specificity(labels, scores, 2)),
            fails(tf, lambda: m.specificity_at_sensitivity(labels, scores, -1)),
            fails(tf, lambda: m.average_precision_at_k(LABELS[0], RANKED[0], 0)),
            fails(tf, lambda: m.mean_iou(tf.constant([0, 1]), tf.constant([0, 1, 1]), 2)),
            fails(tf, lambda: m.mean(tf.placeholder_with_default(SCORES, None), weights=tf.placeholder_with_default(
                WEIGHTS[:, :3].copy(), None))[1]),
            fails(tf, lambda: m.auc(labels, tf.constant([1.5, 0, 0, 0]))[1]), fails(tf, lambda: m.mean("text"))]


CASES.update(metrics__recall_at_k___sparse=with_sparse_labels, metrics__mean___refused=refused)
