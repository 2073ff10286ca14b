# SPDX-License-Identifier: Apache-2.0
"""Cases of measures of tf.contrib.metrics at many thresholds and of all values so far. See symbol_cases.py."""
import numpy as np
from symbol_cases import fails
from symbol_contrib import case_of

LABELS = np.array([0, 0, 1, 1, 0, 1, 1, 0, 1, 0], bool)
SCORES = np.array([.1, .4, .35, .8, .2, .9, .6, .55, .3, .05], np.float32)
WEIGHTS = np.array([1, 2, .5, 1, 1, 3, 1, 1, 2, 1], np.float32)


def measured(name, *makers):
    """Each measure twice, for it goes on counting."""
    def build(tf):
        found = []
        for make in makers:
            value, update = make(tf, tf.contrib.metrics)
            updates = [tf.group(update)] * 2 if isinstance(update, tf.Operation) else [update, update]
            for each in updates:
                with tf.control_dependencies([each]):
                    found.append(tf.constant(0) if isinstance(each, tf.Operation) else tf.identity(each))
            found += list(value) if isinstance(value, tuple) else [value]
        return found
    case_of("contrib__metrics__" + name)(build)


def scored(tf, scores=SCORES, labels=LABELS):
    return tf.constant(labels), tf.constant(scores)


def sized(tf, metric):
    """A measure whose update is an operation."""
    value, update = metric
    return tuple(value), tf.group(update)


measured("streaming_false_negative_rate_at_thresholds",
         lambda tf, m: m.streaming_false_negative_rate_at_thresholds(SCORES, LABELS, [0.0, 0.3, 0.5, 1.0], WEIGHTS))
measured("streaming_false_positive_rate_at_thresholds",
         lambda tf, m: m.streaming_false_positive_rate_at_thresholds(SCORES, LABELS, [0.0, 0.3, 0.5, 1.0]))
measured("f1_score", lambda tf, m: m.f1_score(LABELS, SCORES, WEIGHTS, 20), lambda tf, m: m.f1_score(LABELS, SCORES))
measured("precision_at_recall", lambda tf, m: m.precision_at_recall(LABELS, SCORES, 0.75),
         lambda tf, m: m.precision_at_recall(LABELS, SCORES, 0.71, WEIGHTS, 10))
measured("recall_at_precision", lambda tf, m: m.recall_at_precision(LABELS, SCORES, 0.7),
         lambda tf, m: m.recall_at_precision(LABELS, SCORES, 0.72, None, 10, strict_mode=True),
         lambda tf, m: m.recall_at_precision(~LABELS, SCORES, 0.99, None, 10, strict_mode=True))
measured("streaming_curve_points", lambda tf, m: m.streaming_curve_points(LABELS, SCORES, None, 6),
         lambda tf, m: m.streaming_curve_points(LABELS, SCORES, WEIGHTS, 6, curve="PR"))
measured("precision_recall_at_equal_thresholds", lambda tf, m: m.precision_recall_at_equal_thresholds(LABELS, SCORES, None, 5),
         lambda tf, m: m.precision_recall_at_equal_thresholds(LABELS, SCORES, WEIGHTS, 7))
measured("auc_using_histogram", lambda tf, m: m.auc_using_histogram(*scored(tf), [0.0, 1.0], 7),
         lambda tf, m: m.auc_using_histogram(*scored(tf), [0.0, 1.0]))
measured("streaming_concat", lambda tf, m: m.streaming_concat(tf.constant(SCORES)),
         lambda tf, m: m.streaming_concat(tf.constant(SCORES), max_size=13),
         lambda tf, m: m.streaming_concat(tf.constant(SCORES.reshape(5, 2)), axis=-1))
measured("streaming_dynamic_auc", lambda tf, m: m.streaming_dynamic_auc(*scored(tf)),
         lambda tf, m: m.streaming_dynamic_auc(*scored(tf), curve="PR", weights=tf.constant(WEIGHTS)),
         lambda tf, m: m.streaming_dynamic_auc(*scored(tf, np.round(SCORES))),
         lambda tf, m: m.streaming_dynamic_auc(*scored(tf, np.round(SCORES)), curve="PR"),
         lambda tf, m: m.streaming_dynamic_auc(*scored(tf, SCORES, LABELS & False)),
         lambda tf, m: m.streaming_dynamic_auc(*scored(tf, SCORES, LABELS | True), curve="PR"))
measured("auc_with_confidence_intervals", *[
    lambda tf, m, scores=scores, labels=labels, weights=weights, more=more: sized(tf, m.auc_with_confidence_intervals(
        *scored(tf, scores, labels), None if weights is None else tf.constant(weights), **more))
    for scores, labels, weights, more in [
        (SCORES, LABELS, None, {}), (SCORES, LABELS, None, {"logit_transformation": False}), (np.round(SCORES), LABELS, None, {}),
        (SCORES, LABELS, WEIGHTS, {"alpha": 0.9}), (SCORES, LABELS & False, None, {}), (SCORES[:2], LABELS[1:3], None, {}),
        (SCORES[:3], LABELS[2:5], None, {})]])
measured("cohen_kappa", lambda tf, m: m.cohen_kappa(tf.constant([0, 1, 2, 2, 1, 0]), tf.constant([0, 1, 1, 2, 2, 0]), 3),
         lambda tf, m: m.cohen_kappa(tf.constant([0, 1, 2, 2, 1, 0]), tf.constant([0, 1, 1, 2, 2, 0]), 3,
                                     weights=tf.constant([1.0, 2, 1, 1, 0.5, 0])),
         lambda tf, m: m.cohen_kappa(tf.constant([0, 0]), tf.constant([0, 0]), 3))
measured("streaming_sparse_average_precision_at_top_k",
         lambda tf, m: m.streaming_sparse_average_precision_at_top_k(
             tf.constant([[1, 3, 2], [0, 2, 1]], tf.int64), tf.constant([[1, 2], [2, 3]], tf.int64)),
         lambda tf, m: m.streaming_sparse_average_precision_at_top_k(
             tf.constant([[1, 3, 2], [0, 2, 1]], tf.int64), tf.constant([[1, 2], [2, 3]], tf.int64), weights=[1.0, 3.0]))


@case_of("contrib__metrics__streaming_concat___refused")
def refused(tf):
    m = tf.contrib.metrics
    return [fails(tf, lambda: m.streaming_concat(tf.placeholder(tf.float32))), fails(tf, lambda: m.streaming_concat(tf.constant(1.0))),
            fails(tf, lambda: m.streaming_concat(tf.placeholder(tf.float32, [None, None]))),
            fails(tf, lambda: m.precision_at_recall(LABELS, SCORES, 1.5)),
            fails(tf, lambda: m.recall_at_precision(LABELS, SCORES, -0.5)),
            fails(tf, lambda: m.streaming_curve_points(LABELS, SCORES, curve="AB")),
            fails(tf, lambda: m.precision_recall_at_equal_thresholds(LABELS, SCORES, None, 1))]
