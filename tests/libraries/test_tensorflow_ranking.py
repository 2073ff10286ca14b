# SPDX-License-Identifier: Apache-2.0
"""tensorflow-ranking 0.1.6: losses and measures of lists, a scoring function trained by them."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import tensorflow_ranking as tfr
    tf.set_random_seed(1)
    rng = np.random.RandomState(0)
    features = rng.rand(32, 6, 4).astype(np.float32)
    relevance = np.clip((features.sum(2) - 1) * 1.5, 0, 4).round().astype(np.float32)
    scores = tf.squeeze(tf.layers.dense(tf.layers.dense(tf.constant(features), 8, tf.nn.relu), 1), 2)
    losses = [tfr.losses.make_loss_fn(name)(tf.constant(relevance), scores, {}) for name in (
        "pairwise_logistic_loss", "softmax_loss", "approx_ndcg_loss", "list_mle_loss")]
    step = tf.train.AdamOptimizer(0.05).minimize(tf.add_n(losses))
    ndcg = tfr.metrics.make_ranking_metric_fn("ndcg", topn=3)(tf.constant(relevance), scores, {})
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for _ in range(80):
            session.run(step)
        session.run(ndcg[1])
        print(session.run(ndcg[0]))
"""


def test_a_scoring_function_trains(last_number):
    assert last_number(PROGRAM) > 0.95
