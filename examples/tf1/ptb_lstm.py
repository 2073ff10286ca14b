# SPDX-License-Identifier: Apache-2.0
"""A language model of two LSTM layers whose state goes on from batch to batch; the measure: perplexity beside the best possible."""
import numpy as np
import tensorflow as tf

tf.app.flags.DEFINE_integer("epochs", 4, "passes over the text")
tf.app.flags.DEFINE_integer("units", 64, "units of a layer")
FLAGS = tf.app.flags.FLAGS
WORDS, BATCH, STEPS = 30, 20, 15


def language(count, seed):
    """(words of a Markov chain with two followers for every pair of words, the perplexity of its entropy)."""
    rules = np.random.RandomState(7).randint(0, WORDS, [WORDS, WORDS, 2])
    r = np.random.RandomState(seed)
    text = [0, 1]
    for _ in range(count):
        text.append(rules[text[-2] % 3, text[-1], int(r.rand() < 0.2)])
    return np.array(text), np.exp(-(0.8 * np.log(0.8) + 0.2 * np.log(0.2)))


def batches(text):
    width = len(text) // BATCH
    rows = text[:BATCH * width].reshape(BATCH, width)
    for i in range((width - 1) // STEPS):
        yield rows[:, i * STEPS:(i + 1) * STEPS], rows[:, i * STEPS + 1:(i + 1) * STEPS + 1]


class Model(object):
    def __init__(self, training):
        self.words = tf.placeholder(tf.int32, [BATCH, STEPS])
        self.targets = tf.placeholder(tf.int32, [BATCH, STEPS])
        inputs = tf.nn.embedding_lookup(tf.get_variable("embedding", [WORDS, FLAGS.units]), self.words)
        cells = [tf.nn.rnn_cell.BasicLSTMCell(FLAGS.units, forget_bias=1.0) for _ in range(2)]
        if training:
            cells = [tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.9, seed=i) for i, cell in enumerate(cells)]
        cell = tf.nn.rnn_cell.MultiRNNCell(cells)
        self.state = cell.zero_state(BATCH, tf.float32)
        outputs, self.last = tf.nn.dynamic_rnn(cell, inputs, initial_state=self.state)
        logits = tf.layers.dense(outputs, WORDS, name="logits")
        self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.targets, logits=logits))
        if training:
            self.rate = tf.placeholder(tf.float32, [])
            variables = tf.trainable_variables()
            gradients, _ = tf.clip_by_global_norm(tf.gradients(self.loss, variables), 5.0)
            self.step = tf.train.AdamOptimizer(self.rate).apply_gradients(zip(gradients, variables))

    def perplexity(self, session, text, rate=None):
        state, losses = session.run(self.state), []
        for words, targets in batches(text):
            feeds = {self.words: words, self.targets: targets, self.state: state}
            if rate:
                feeds[self.rate] = rate
            fetches = [self.loss, self.last] + ([self.step] if rate else [])
            loss, state = session.run(fetches, feeds)[:2]
            losses.append(loss)
        return np.exp(np.mean(losses))


def main(_):
    tf.set_random_seed(1)
    (train, best), (test, _) = language(40000, 1), language(6000, 2)
    with tf.variable_scope("model"):
        model = Model(training=True)
    with tf.variable_scope("model", reuse=True):
        judge = Model(training=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for epoch in range(FLAGS.epochs):
            print("epoch %d  train perplexity %.2f" % (epoch + 1, model.perplexity(session, train, 1e-2 * 0.7**epoch)))
        print("test perplexity: %.2f, best possible: %.2f" % (judge.perplexity(session, test), best))


if __name__ == "__main__":
    tf.app.run()
