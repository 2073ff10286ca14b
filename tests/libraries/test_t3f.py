# SPDX-License-Identifier: Apache-2.0
"""t3f 1.1.0: tensors as tensor trains, completed from some of their elements."""
import pytest

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import t3f
    rng = np.random.RandomState(0)
    a, b, c = rng.rand(5, 2), rng.rand(2, 6, 2), rng.rand(2, 7)
    full = np.einsum("ia,ajb,bk->ijk", a, b, c).astype(np.float32)
    mask = (rng.rand(5, 6, 7) < 0.7).astype(np.float32)
    cores = [rng.rand(1, 5, 2), rng.rand(2, 6, 2), rng.rand(2, 7, 1)]
    estimate = t3f.get_variable("estimate", initializer=t3f.TensorTrain([tf.constant(c, tf.float32) for c in cores], (5, 6, 7), (1, 2, 2, 1)))
    loss = tf.reduce_mean((mask * (t3f.full(estimate) - full)) ** 2)
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    rounded = t3f.round(t3f.to_tt_tensor(tf.constant(full), max_tt_rank=4), max_tt_rank=2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(60):
            session.run(step)
        assert np.abs(session.run(t3f.full(rounded)) - full).max() < 1e-4
        print(session.run(loss))
"""


def test_completion_gives_what_it_gave_with_tensorflow(last_number):
    assert last_number(PROGRAM) == pytest.approx(0.0043107965, rel=1e-3)
