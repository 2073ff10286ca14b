# SPDX-License-Identifier: Apache-2.0
"""A character model in the manner of 2016: two LSTM layers unrolled by the legacy sequence library, trained from batches that carry
the state on, saved, and then sampled letter by letter with a second copy of the model that shares the variables.

    char_lstm.py [--steps=600]

Ends with the bits that it needs for a letter, beside those of letters by their frequency alone.
"""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("steps", 600, "training steps")
flags.DEFINE_integer("units", 48, "units of a layer")
flags.DEFINE_integer("seq_length", 20, "letters of a piece")
flags.DEFINE_integer("batch_size", 16, "pieces of a batch")
flags.DEFINE_float("learning_rate", 0.01, "at first")
FLAGS = flags.FLAGS

WHO = "the old miller,a young fox,the tall heron,one gray goose,the blind mole".split(",")
DOES = "waits for,looks at,walks past,sings to,dreams of".split(",")
WHAT = "the river,the bridge,a round stone,the empty mill,the morning".split(",")


def make_text(random, sentences=1500):
    """Sentences of a small grammar: most letters follow from those before."""
    parts = ["%s %s %s." % tuple(words[random.randint(len(words))] for words in (WHO, DOES, WHAT)) for _ in range(sentences)]
    return " ".join(parts)


class Model(object):
    def __init__(self, letters, batch_size, seq_length, sampling=False):
        cells = [tf.contrib.rnn.BasicLSTMCell(FLAGS.units) for _ in range(2)]
        self.cell = cell = tf.contrib.rnn.MultiRNNCell(cells)
        self.input_data = tf.placeholder(tf.int32, [batch_size, seq_length])
        self.targets = tf.placeholder(tf.int32, [batch_size, seq_length])
        self.initial_state = cell.zero_state(batch_size, tf.float32)
        with tf.variable_scope("rnnlm", reuse=sampling):
            softmax_w = tf.get_variable("softmax_w", [FLAGS.units, letters])
            softmax_b = tf.get_variable("softmax_b", [letters])
            embedding = tf.get_variable("embedding", [letters, FLAGS.units])
            inputs = tf.split(tf.nn.embedding_lookup(embedding, self.input_data), seq_length, 1)
            inputs = [tf.squeeze(i, [1]) for i in inputs]
            outputs, self.final_state = tf.contrib.legacy_seq2seq.rnn_decoder(inputs, self.initial_state, cell)
        output = tf.reshape(tf.concat(outputs, 1), [-1, FLAGS.units])
        logits = tf.matmul(output, softmax_w) + softmax_b
        self.probs = tf.nn.softmax(logits)
        loss = tf.contrib.legacy_seq2seq.sequence_loss_by_example(
            [logits], [tf.reshape(self.targets, [-1])], [tf.ones([batch_size * seq_length])])
        self.cost = tf.reduce_sum(loss) / batch_size / seq_length
        if sampling:
            return
        self.lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, _ = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), 5.0)
        self.train_op = tf.train.AdamOptimizer(self.lr).apply_gradients(zip(grads, tvars))


def sample(sess, model, chars, count, first, random):
    state = sess.run(model.initial_state)
    text = first
    for _ in range(count):
        x = np.full((1, 1), chars.index(text[-1]))
        probs, state = sess.run([model.probs, model.final_state], {model.input_data: x, model.initial_state: state})
        p = probs[0].astype(np.float64)
        text += chars[random.choice(len(chars), p=p / p.sum())]
    return text


def main(_):
    random = np.random.RandomState(1)
    text = make_text(random)
    chars = sorted(set(text))
    data = np.array([chars.index(c) for c in text], np.int32)
    rows = len(data) // FLAGS.batch_size
    data = data[:rows * FLAGS.batch_size].reshape(FLAGS.batch_size, rows)
    tf.set_random_seed(1)
    with tf.variable_scope("model"):
        model = Model(len(chars), FLAGS.batch_size, FLAGS.seq_length)
    with tf.variable_scope("model", reuse=True):
        writer = Model(len(chars), 1, 1, sampling=True)
    saver = tf.train.Saver(tf.global_variables())
    folder = tempfile.mkdtemp()
    costs = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        at, state = 0, sess.run(model.initial_state)
        for step in range(FLAGS.steps):
            if step % 100 == 0:
                sess.run(tf.assign(model.lr, FLAGS.learning_rate * 0.8 ** (step // 100)))
            if at + FLAGS.seq_length + 1 > rows:
                at, state = 0, sess.run(model.initial_state)
            feed = {model.input_data: data[:, at:at + FLAGS.seq_length],
                    model.targets: data[:, at + 1:at + FLAGS.seq_length + 1]}
            for (c, h), value in zip(model.initial_state, state):
                feed[c], feed[h] = value.c, value.h
            cost, state, _ = sess.run([model.cost, model.final_state, model.train_op], feed)
            costs.append(cost)
            at += FLAGS.seq_length
            if step % 100 == 0:
                print("step %4d cost %.3f" % (step, cost))
        path = saver.save(sess, os.path.join(folder, "model.ckpt"))
    with tf.Session() as sess:
        saver.restore(sess, path)
        print(sample(sess, writer, chars, 80, "t", random))
    shutil.rmtree(folder)
    share = np.bincount(data.ravel()) / float(data.size)
    print("bits a letter: %.2f, by frequency: %.2f" % (np.mean(costs[-50:]) / np.log(2), -(share * np.log2(share)).sum()))


if __name__ == "__main__":
    tf.app.run()
