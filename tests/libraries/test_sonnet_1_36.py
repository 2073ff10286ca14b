# SPDX-License-Identifier: Apache-2.0
"""dm-sonnet 1.36: an LSTM, attention over its inputs and a convolution with batch normalization train together."""
import pytest

PROGRAM = """
    import warnings
    warnings.simplefilter("ignore")
    import numpy as np
    import tensorflow as tf
    import sonnet as snt
    assert snt.__version__.startswith("1.36"), snt.__version__
    draw = np.random.RandomState(0)
    rows = draw.uniform(-1, 1, (16, 6, 4)).astype(np.float32)
    x, y = tf.constant(rows), tf.constant(rows.sum((1, 2))[:, None])
    def init(shape, dtype=tf.float32, partition_info=None):
        return tf.cast(tf.reshape(tf.sin(tf.range(float(np.prod(shape)))) * 0.4, shape), dtype)
    core = snt.LSTM(8, initializers={"w_gates": init, "b_gates": tf.zeros_initializer()})
    out, state = tf.nn.dynamic_rnn(core, x, dtype=tf.float32)
    attention = snt.AttentiveRead(attention_logit_mod=snt.nets.MLP([8, 1], initializers={"w": init, "b": tf.zeros_initializer()}))
    read = attention(x, out[:, -1]).read
    image = tf.reshape(x, [16, 6, 4, 1])
    conv = snt.Conv2D(3, 3, initializers={"w": init, "b": tf.zeros_initializer()})(image)
    norm = snt.BatchNormV2(offset=True, scale=True)(conv, is_training=True)
    flat = tf.concat([snt.BatchFlatten()(norm), read, out[:, -1]], 1)
    answer = snt.nets.MLP([8, 1], initializers={"w": init, "b": tf.zeros_initializer()})(flat)
    loss = tf.reduce_mean((answer - y) ** 2)
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = []
        for _ in range(40):
            losses.append(session.run([loss, step])[0])
        print(*losses[::8])
"""
RECORDED = [  # what TensorFlow 1.15 gives
    11.862856, 0.93656546, 0.18042803, 0.17748463, 0.072872326]


def test_a_net_trains_as_in_tensorflow(other_numbers):
    assert other_numbers(PROGRAM) == pytest.approx(RECORDED, rel=1e-3, abs=1e-6)
