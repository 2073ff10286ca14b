# SPDX-License-Identifier: Apache-2.0
"""keras-bert 0.81.0 on tf.keras: masked words and next sentences are learned, then a classifier by its own optimizer."""
import pytest

PROGRAM = """
    import os
    import random
    import warnings
    warnings.simplefilter("ignore")
    os.environ["TF_KERAS"] = "1"
    import numpy as np
    import tensorflow as tf
    from keras_bert import AdamWarmup, Tokenizer, calc_train_steps, compile_model, gen_batch_inputs, get_base_dict, get_model
    draw = np.random.RandomState(0)
    words = {**get_base_dict(), **{w: 5 + n for n, w in enumerate("all work and no play makes jack a dull boy".split())}}
    sizes = dict(token_num=len(words), head_num=2, embed_dim=8, feed_forward_dim=16, seq_len=12, pos_num=12, dropout_rate=0.)
    model = get_model(transformer_num=2, **sizes)
    model.set_weights([draw.uniform(-0.3, 0.3, w.shape) for w in model.get_weights()])
    random.seed(1)
    np.random.seed(1)
    sentence = "all work and no play makes jack a dull boy".split()
    pairs = [[sentence[n:n + 3], sentence[n + 3:n + 5]] for n in range(8)]
    inputs, outputs = gen_batch_inputs(pairs, words, sentence, seq_len=12, swap_sentence_rate=0.5)
    compile_model(model)
    losses = [model.train_on_batch(inputs, outputs) for _ in range(6)]
    found = [v for loss in losses[::3] for v in np.atleast_1d(loss)]
    inner, last = get_model(transformer_num=1, training=False, **sizes)
    logits = tf.keras.layers.Dense(2, activation="softmax")(tf.keras.layers.Lambda(lambda x: x[:, 0])(last))
    classifier = tf.keras.models.Model(inner, logits)
    optimizer = AdamWarmup(*calc_train_steps(16, 8, 10), lr=0.01, weight_decay=0.01, weight_decay_pattern=["kernel", "W1"])
    classifier.compile(optimizer, "sparse_categorical_crossentropy")
    classifier.set_weights([draw.uniform(-0.3, 0.3, w.shape) for w in classifier.get_weights()])
    tokenizer = Tokenizer(words)
    rows = [tokenizer.encode("all work", "no play", max_len=12), tokenizer.encode("a dull boy", "jack", max_len=12)]
    ids, segments = [np.array(part) for part in zip(*rows)]
    steps = [classifier.train_on_batch([ids, segments], np.array([0, 1])) for _ in range(20)]
    assert steps[-1] < steps[0]
    print(*found, *steps[::6])
"""
RECORDED = [  # what TensorFlow 1.15 gives
    0.9962416, 0.23189907, 0.76434255, 0.9962414, 0.23189902, 0.76434237, 0.69514436, 0.6938727, 0.6934391, 0.6933919]


def test_models_train_as_in_tensorflow(last_numbers):
    assert last_numbers(PROGRAM) == pytest.approx(RECORDED, rel=1e-4, abs=1e-6)
