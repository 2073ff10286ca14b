# SPDX-License-Identifier: Apache-2.0
"""tensornets 0.4.6: nets whose middles are named, one of them trained from nothing."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import tensornets as nets
    tf.set_random_seed(1)
    rng = np.random.RandomState(0)
    images = rng.rand(16, 32, 32, 3).astype(np.float32)
    images[:8] *= 0.3
    classes = np.eye(2)[np.repeat([0, 1], 8)]
    x, y = tf.placeholder(tf.float32, [None, 32, 32, 3]), tf.placeholder(tf.float32, [None, 2])
    model = nets.MobileNet25(x, is_training=True, classes=2)
    assert len(model.get_middles()) > 5 and len(model.get_weights()) > 20, (model.get_middles(), model.get_weights())
    loss = tf.losses.softmax_cross_entropy(y, model.get_outputs()[-2] if False else model.logits)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(updates):
        step = tf.train.AdamOptimizer(0.005).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss, {x: images, y: classes})
        for _ in range(40):
            session.run(step, {x: images, y: classes})
        print(session.run(loss, {x: images, y: classes}) / before)
"""


def test_a_net_trains(last_number):
    assert last_number(PROGRAM) < 0.3
