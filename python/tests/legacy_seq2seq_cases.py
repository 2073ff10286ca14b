# SPDX-License-Identifier: Apache-2.0
"""Cases of tf.contrib.legacy_seq2seq. With TensorFlow 1.15: python legacy_seq2seq_cases.py > legacy_seq2seq_recorded.json"""
import json

import numpy as np


def symbols(tf, n, k=3):
    return [tf.constant([i % k, (i + 1) % k]) for i in range(n)]


def vectors(tf, n):
    return [tf.constant([[.1 * i, .2], [.3, -.1 * i]]) for i in range(n)]


CELLS = {"gru": lambda tf: tf.nn.rnn_cell.GRUCell(3), "lstm": lambda tf: tf.nn.rnn_cell.BasicLSTMCell(3)}
MODELS = {
    "basic": lambda tf, m, c: m.basic_rnn_seq2seq(vectors(tf, 2), vectors(tf, 3), c),
    "tied": lambda tf, m, c: m.tied_rnn_seq2seq(vectors(tf, 2), vectors(tf, 3), c),
    "embedding": lambda tf, m, c: m.embedding_rnn_seq2seq(symbols(tf, 2), symbols(tf, 3), c, 4, 5, 2),
    "embedding_feeds": lambda tf, m, c: m.embedding_rnn_seq2seq(symbols(tf, 2), symbols(tf, 3), c, 4, 5, 2, feed_previous=True),
    "embedding_chooses": lambda tf, m, c: m.embedding_rnn_seq2seq(symbols(tf, 2), symbols(tf, 3), c, 4, 5, 2,
                                                                  feed_previous=tf.constant(True)),
    "tied_embedding": lambda tf, m, c: m.embedding_tied_rnn_seq2seq(symbols(tf, 2), symbols(tf, 3), c, 5, 2),
    "tied_embedding_chooses": lambda tf, m, c: m.embedding_tied_rnn_seq2seq(symbols(tf, 2), symbols(tf, 3), c, 5, 2,
                                                                            feed_previous=tf.constant(False)),
    "attention": lambda tf, m, c: m.embedding_attention_seq2seq(symbols(tf, 2), symbols(tf, 3), c, 4, 5, 2),
    "attention_feeds": lambda tf, m, c: m.embedding_attention_seq2seq(symbols(tf, 2), symbols(tf, 3), c, 4, 5, 2, num_heads=2,
                                                                      feed_previous=True, initial_state_attention=True),
    "attention_chooses": lambda tf, m, c: m.embedding_attention_seq2seq(symbols(tf, 2), symbols(tf, 3), c, 4, 5, 2,
                                                                        feed_previous=tf.constant(False)),
}


def one_to_many(tf):
    cell = CELLS["gru"]
    outputs, states = tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq(
        symbols(tf, 2), {"a": symbols(tf, 2), "b": symbols(tf, 3)}, cell(tf), {"a": cell(tf), "b": cell(tf)}, 4,
        {"a": 5, "b": 6}, 2)
    return outputs["a"] + outputs["b"] + [states["a"], states["b"]]


def buckets(tf):
    m, weights, targets = tf.contrib.legacy_seq2seq, [tf.constant([1., .5])] * 3, symbols(tf, 3)
    outputs, losses = m.model_with_buckets(
        targets, targets, targets, weights, [(2, 2), (3, 3)],
        lambda x, y: m.embedding_attention_seq2seq(x, y, CELLS["gru"](tf), 4, 5, 2))
    return losses + [m.sequence_loss(outputs[1], targets, weights, average_across_timesteps=False),
                     m.sequence_loss_by_example(outputs[1], targets, weights)]


def cases(tf):
    """Functions by name, each of which builds a graph and gives tensors."""
    found = {"one_to_many": lambda: one_to_many(tf), "buckets": lambda: buckets(tf)}
    for cell, make in CELLS.items():
        for model, build in MODELS.items():
            def case(make=make, build=build):
                outputs, state = build(tf, tf.contrib.legacy_seq2seq, make(tf))
                return list(outputs) + list(tf.contrib.framework.nest.flatten(state))
            found[cell + "_" + model] = case
    return found


def outcome(tf, case):
    """Names and shapes of the variables, and the tensors' values when the variables have known ones."""
    with tf.Graph().as_default():
        tensors = case()
        by_name = sorted(tf.global_variables(), key=lambda v: v.name)
        random = np.random.RandomState(0)
        with tf.Session() as sess:
            for v in by_name:
                sess.run(v.initializer)
                v.load((random.rand(*v.shape.as_list()) * .6 - .3).astype(np.float32), sess)
            values = [np.round(np.asarray(q, np.float64), 6).tolist() for q in sess.run(tensors)]
        return {"variables": [[v.name, v.shape.as_list()] for v in by_name], "values": values}


if __name__ == "__main__":
    import tensorflow
    rows = {name: outcome(tensorflow, case) for name, case in sorted(cases(tensorflow).items())}
    print("{" + ",\n".join(json.dumps(name) + ": " + json.dumps(row) for name, row in rows.items()) + "}")
