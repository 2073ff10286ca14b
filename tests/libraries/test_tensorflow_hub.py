# SPDX-License-Identifier: Apache-2.0
"""tensorflow-hub 0.7.0: a module is written, loaded into another graph, where it starts with the values written, and trained."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import tensorflow_hub as hub

    def body():
        x = tf.placeholder(tf.float32, [None, 3])
        w = tf.get_variable("w", [3, 8], initializer=tf.random_normal_initializer(seed=1))
        b = tf.get_variable("b", [8], initializer=tf.zeros_initializer())
        hub.add_signature(inputs=x, outputs=tf.tanh(tf.matmul(x, w) + b))

    with tf.Graph().as_default(), tf.Session() as session:
        module = hub.Module(hub.create_module_spec(body))
        session.run(tf.global_variables_initializer())
        module.export("module", session)
        written = session.run(module.variable_map["w"])

    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
    module = hub.Module("module", trainable=True)
    assert len(tf.trainable_variables()) == 2
    loss = tf.losses.mean_squared_error(y, tf.layers.dense(module(x), 1))
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    rows = np.random.RandomState(0).randn(64, 3).astype(np.float32)
    feeds = {x: rows, y: rows[:, :1] * rows[:, 1:2]}
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        np.testing.assert_array_equal(session.run(module.variable_map["w"]), written)
        before = session.run(loss, feeds)
        for _ in range(200):
            session.run(step, feeds)
        assert (session.run(module.variable_map["w"]) != written).all()
        print(session.run(loss, feeds) / before)
"""


def test_a_module_is_loaded_and_trains(last_number):
    assert last_number(PROGRAM) < 0.1
