# SPDX-License-Identifier: Apache-2.0
"""Sequence to sequence with attention turns sequences of symbols around; the measure: sequences that come out whole."""
import numpy as np
import tensorflow as tf

tf.app.flags.DEFINE_integer("steps", 700, "training steps")
FLAGS = tf.app.flags.FLAGS
START, END, SYMBOLS, LONGEST, UNITS = 0, 1, 10, 6, 64


def batch(r, size):
    """(sources, their lengths, what the decoder sees, what it should say, lengths of these)."""
    lengths = r.randint(2, LONGEST + 1, size)
    sources = np.full([size, LONGEST], END)
    seen = np.full([size, LONGEST + 1], END)
    said = np.full([size, LONGEST + 1], END)
    for i, n in enumerate(lengths):
        sources[i, :n] = r.randint(2, SYMBOLS, n)
        said[i, :n] = sources[i, :n][::-1]
        seen[i, :n + 1] = np.append([START], said[i, :n])
    return sources, lengths, seen, said, lengths + 1


def decode(helper, cell, state, projection):
    decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, state, output_layer=projection)
    return tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=LONGEST + 1)[0]


def main(_):
    tf.set_random_seed(1)
    sources = tf.placeholder(tf.int32, [None, LONGEST])
    source_lengths = tf.placeholder(tf.int32, [None])
    seen = tf.placeholder(tf.int32, [None, LONGEST + 1])
    said = tf.placeholder(tf.int32, [None, LONGEST + 1])
    said_lengths = tf.placeholder(tf.int32, [None])
    size = tf.shape(sources)[0]

    embedding = tf.get_variable("embedding", [SYMBOLS, 32])
    memory, last = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(UNITS), tf.nn.embedding_lookup(embedding, sources),
                                     source_lengths, dtype=tf.float32)
    attention = tf.contrib.seq2seq.LuongAttention(UNITS, memory, memory_sequence_length=source_lengths)
    cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(UNITS), attention, attention_layer_size=UNITS)
    state = cell.zero_state(size, tf.float32).clone(cell_state=last)
    projection = tf.layers.Dense(SYMBOLS, use_bias=False, name="projection")
    with tf.variable_scope("decoder"):
        helper = tf.contrib.seq2seq.TrainingHelper(tf.nn.embedding_lookup(embedding, seen), said_lengths)
        logits = decode(helper, cell, state, projection).rnn_output
    with tf.variable_scope("decoder", reuse=True):
        helper = tf.contrib.seq2seq.GreedyEmbeddingHelper(embedding, tf.fill([size], START), END)
        answer = decode(helper, cell, state, projection).sample_id

    longest = tf.shape(logits)[1]
    loss = tf.contrib.seq2seq.sequence_loss(logits, said[:, :longest], tf.sequence_mask(said_lengths, longest, tf.float32))
    optimizer = tf.train.AdamOptimizer(5e-3)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    step = optimizer.apply_gradients(zip(tf.clip_by_global_norm(gradients, 5.0)[0], variables))

    r = np.random.RandomState(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for i in range(FLAGS.steps):
            value, _ = session.run([loss, step], dict(zip([sources, source_lengths, seen, said, said_lengths], batch(r, 64))))
            if i % 100 == 0:
                print("step %4d  loss %.3f" % (i, value))
        asked, lengths, _, expected, _ = batch(np.random.RandomState(9), 300)
        answers = session.run(answer, {sources: asked, source_lengths: lengths})
    whole = [list(a[:n]) == list(e[:n]) for a, e, n in zip(answers, expected, lengths)]
    print("%s -> %s" % (asked[0][:lengths[0]], answers[0][:lengths[0]]))
    print("sequences turned around without a mistake: %.2f" % np.mean(whole))


if __name__ == "__main__":
    tf.app.run()
