# SPDX-License-Identifier: Apache-2.0
"""Cases of tf.keras' functions of tensors: see symbol_cases.py."""
from symbol_cases import CASES, fails, numbers

X, W = numbers(3, 4) * 3, numbers(4, 3, start=1) * 2


def activations(tf):
    a, x = tf.keras.activations, tf.constant(X)
    found = [getattr(a, n)(x) for n in "softmax elu selu softplus softsign relu tanh sigmoid exponential hard_sigmoid linear".split()]
    return found + [a.elu(x, 0.5), a.relu(x, 0.1), a.relu(x, max_value=1.0), a.relu(x, threshold=0.5), a.relu(
        x, alpha=0.2, max_value=1.5, threshold=0.3), a.get("relu")(x), a.get(None)(x), a.serialize(a.relu), fails(
            tf, lambda: a.get("nothing")), fails(tf, lambda: a.get(3)), fails(tf, lambda: a.softmax(tf.constant([1.0])))]


def regularizers(tf):
    r, w = tf.keras.regularizers, tf.constant(W)
    return [r.l1(0.1)(w), r.l2()(w), r.l1_l2(0.1, 0.2)(w), r.L1L2()(w), r.get("l1_l2")(w), r.get({"class_name": "L1L2", "config": {
        "l1": 0.3, "l2": 0.1}})(w), str(sorted(r.serialize(r.l2(0.5))["config"])), str(r.get(None)), fails(
            tf, lambda: r.get("nothing")), fails(tf, lambda: r.get(3))]


def constraints(tf):
    c, w = tf.keras.constraints, tf.constant(W)
    return [c.MaxNorm(1.0)(w), c.MaxNorm(1.0, axis=1)(w), c.NonNeg()(w), c.UnitNorm()(w), c.MinMaxNorm(0.5, 1.0, 0.7)(w), c.get(
        "non_neg")(w), c.get({"class_name": "MaxNorm", "config": {"max_value": 0.5, "axis": 0}})(w), str(c.get(None)), fails(
            tf, lambda: c.get("nothing")), fails(tf, lambda: c.get(3))]


def initializers(tf):
    i = tf.keras.initializers
    return [i.get("ones")([2]), i.get({"class_name": "Constant", "config": {"value": 2.0}})([2]), i.deserialize("zeros")([2]),
            i.serialize(i.RandomNormal(0.0, 0.2, 3))["class_name"], str(i.serialize(i.RandomNormal(0.0, 0.2, 3))["config"]["stddev"]),
            i.RandomUniform(-1, 1, seed=3)([3]), str(i.get(None)), fails(tf, lambda: i.get("nothing")), fails(tf, lambda: i.get(3)),
            len(tf.QUANTIZED_DTYPES)]


CASES.update(keras__initializers__deserialize=initializers, keras__activations__relu=activations, keras__regularizers__l1_l2=regularizers, keras__constraints__MaxNorm=constraints)
