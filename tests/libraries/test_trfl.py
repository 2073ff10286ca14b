# SPDX-License-Identifier: Apache-2.0
"""trfl 1.1.0, through tensorflow-probability 0.8.0: losses of reinforcement learning and their gradients."""
import pytest

PROGRAM = """
    import tensorflow as tf
    import trfl
    q = tf.constant([[1., 2., -1.], [0.5, 0.25, 3.]])
    loss, extra = trfl.qlearning(q, tf.constant([1, 2]), tf.constant([1., -1.]), tf.constant([0.9, 0.8]), q * 2)
    policy = tf.get_variable("policy", initializer=[[[0.1, -0.3]] * 2] * 3)
    values = tf.constant([[1., 2.], [0.5, -1.], [3., 0.25]])
    out = trfl.vtrace_from_importance_weights(
        log_rhos=tf.constant([[0.1, -0.2], [0.3, 0.], [-1., 0.5]]), discounts=tf.fill([3, 2], 0.9),
        rewards=tf.constant([[1., 0.], [0.5, 2.], [-1., 1.]]), values=values, bootstrap_value=tf.constant([0.5, -0.5]))
    advantage = trfl.sequence_advantage_actor_critic_loss(
        policy, values, tf.zeros([3, 2], tf.int32), tf.ones([3, 2]), tf.fill([3, 2], 0.9), tf.zeros([2]))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(advantage.loss), var_list=[policy])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        total = sum(map(tf.reduce_sum, (loss, extra.td_error, out.vs, out.pg_advantages, advantage.loss)))
        print(session.run(total))
"""


def test_losses_are_those_of_tensorflow(last_number):
    assert last_number(PROGRAM) == pytest.approx(36.0844, rel=1e-5)
