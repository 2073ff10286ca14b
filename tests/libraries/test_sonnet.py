# SPDX-License-Identifier: Apache-2.0
"""dm-sonnet 1.23: modules that share their variables; a recurrent core that remembers the first of a row."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import sonnet as snt
    tf.set_random_seed(1)
    rows = np.random.RandomState(0).rand(64, 5, 3).astype(np.float32)
    classes = (rows[:, 0].sum(1) > 1.5).astype(np.int64)
    core = snt.LSTM(12, name="core")
    outputs, state = tf.nn.dynamic_rnn(core, tf.constant(rows), initial_state=core.initial_state(64))
    head = snt.nets.MLP([16, 2], activation=tf.nn.tanh)
    logits = head(snt.BatchFlatten()(outputs[:, -1]))
    again = head(outputs[:, -1])
    assert len(head.get_variables()) == 4, head.get_variables()
    convolution = snt.Conv2D(4, 3, initializers={"w": tf.truncated_normal_initializer(stddev=0.1)})
    pixels = convolution(tf.reshape(tf.constant(rows), [64, 5, 3, 1]))
    assert convolution.w.shape == (3, 3, 1, 4)
    normed = snt.BatchNorm()(pixels, is_training=True)
    logits += snt.Linear(2)(snt.BatchFlatten()(normed))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits))
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(100):
            session.run(step)
        print((session.run(logits).argmax(1) == classes).mean())
"""


def test_a_recurrent_net_trains(last_number):
    assert last_number(PROGRAM) > 0.9
