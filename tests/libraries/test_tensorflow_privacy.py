# SPDX-License-Identifier: Apache-2.0
"""tensorflow-privacy 0.2.2: clipped and noisy gradients of single examples, and what they disclose."""
import pytest

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    from tensorflow_privacy.privacy.optimizers.dp_optimizer import DPAdamGaussianOptimizer, DPGradientDescentGaussianOptimizer
    tf.set_random_seed(1)
    rows = np.random.RandomState(0).rand(64, 4).astype(np.float32)
    classes = (rows.sum(1) > 2).astype(np.int32)
    logits = tf.layers.dense(tf.layers.dense(tf.constant(rows), 8, tf.nn.tanh), 2)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
    steps = [make(l2_norm_clip=1.0, noise_multiplier=0.3, num_microbatches=16, learning_rate=rate).minimize(losses)
             for make, rate in ((DPGradientDescentGaussianOptimizer, 0.5), (DPAdamGaussianOptimizer, 0.02))]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in steps:
            for _ in range(60):
                session.run(step)
        print((session.run(logits).argmax(1) == classes).mean())
"""

SPENT = """
    from tensorflow_privacy.privacy.analysis.rdp_accountant import compute_rdp, get_privacy_spent
    orders = [2, 4, 8, 16, 32, 64]
    print(get_privacy_spent(orders, compute_rdp(0.01, 1.1, 1000, orders), target_delta=1e-5)[0])
"""


def test_noisy_gradients_train(last_number):
    assert last_number(PROGRAM) > 0.85


def test_the_account_is_that_of_tensorflow(last_number):
    assert last_number(SPENT) == pytest.approx(2.2287739733731367, rel=1e-9)
