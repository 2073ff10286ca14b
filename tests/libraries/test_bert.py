# SPDX-License-Identifier: Apache-2.0
"""bert-tensorflow 1.0.1: a small transformer learns which word of a sentence comes first, by BERT's own optimizer."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    from bert import modeling, optimization
    tf.set_random_seed(1)
    words = np.random.RandomState(0).randint(2, 30, (32, 8)).astype(np.int32)
    config = modeling.BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                                 hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.1)
    model = modeling.BertModel(config, is_training=True, input_ids=tf.constant(words), input_mask=tf.ones([32, 8], tf.int32),
                               token_type_ids=tf.zeros([32, 8], tf.int32))
    logits = tf.layers.dense(model.get_pooled_output(), 2)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=(words[:, 0] > words[:, 1]).astype(np.int32), logits=logits))
    step = optimization.create_optimizer(loss, 0.005, num_train_steps=80, num_warmup_steps=10, use_tpu=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(80):
            session.run(step)
        print(session.run(loss))
"""


def test_a_classifier_trains(last_number):
    assert last_number(PROGRAM) < 0.2
