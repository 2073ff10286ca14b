# SPDX-License-Identifier: Apache-2.0
"""kfac 0.2.0: a net is trained by its Fisher blocks, whose inverses are made anew as the optimizer says."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import kfac
    tf.set_random_seed(1)
    rows = np.random.RandomState(0).randn(128, 4).astype(np.float32)
    x, y = tf.constant(rows), tf.constant((rows[:, 0] * rows[:, 1] > 0).astype(np.int64))
    blocks = kfac.LayerCollection()

    def layer(name, inputs, size):
        weights = tf.get_variable(name + "/w", [inputs.shape[1], size])
        biases = tf.get_variable(name + "/b", [size], initializer=tf.zeros_initializer())
        outputs = tf.matmul(inputs, weights) + biases
        blocks.register_fully_connected((weights, biases), inputs, outputs)
        return outputs

    logits = layer("second", tf.tanh(layer("first", x, 16)), 2)
    blocks.register_categorical_predictive_distribution(logits)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    optimizer = kfac.PeriodicInvCovUpdateKfacOpt(learning_rate=0.1, cov_ema_decay=0.9, damping=0.01, momentum=0.5, batch_size=128,
                                                 layer_collection=blocks, placement_strategy="round_robin")
    step = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(60):
            session.run(step)
        print(session.run(loss) / before)
"""


def test_a_net_trains(last_number):
    assert last_number(PROGRAM) < 0.3
