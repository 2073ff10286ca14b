# SPDX-License-Identifier: Apache-2.0
"""gpt-2-simple 0.8.1: a small language model learns to count, then its sampler goes on counting with the past it has kept."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    from gpt_2_simple.src import model, sample
    from gpt_2_simple.src.accumulate import AccumulatingOptimizer
    tf.set_random_seed(1)
    hparams = model.default_hparams()
    hparams.override_from_dict(dict(n_vocab=10, n_ctx=12, n_embd=32, n_head=2, n_layer=2))
    rows = (np.arange(12) + np.arange(10)[:, None]) % 10
    context = tf.placeholder(tf.int32, [10, 12])
    out = model.model(hparams=hparams, X=context)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=context[:, 1:], logits=out["logits"][:, :-1]))
    optimizer = AccumulatingOptimizer(opt=tf.train.AdamOptimizer(0.01), var_list=tf.trainable_variables())
    reset, compute, apply = optimizer.reset(), optimizer.compute_gradients(loss), optimizer.apply_gradients()
    tokens = sample.sample_sequence(hparams=hparams, length=6, start_token=None, batch_size=10, context=context[:, :3], temperature=1.0,
                                    top_k=1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(60):
            session.run(reset)
            session.run(compute, {context: rows})
            session.run(apply)
        print((session.run(tokens, {context: rows}) == rows[:, :9]).mean())
"""


def test_a_language_model_counts(last_number):
    assert last_number(PROGRAM) > 0.9
