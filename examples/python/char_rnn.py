# SPDX-License-Identifier: Apache-2.0
"""Learns to write letter by letter: an LSTM run by tf.nn.dynamic_rnn, trained on the text below.

    python char_rnn.py [STEPS]

Ends with the bits that it needs for a letter of the text (about 4.5 when it knows nothing).
"""
import sys

import numpy as np
import thalweg as tf

TEXT = """
Above the last farm the stream is small enough to step over. It comes out of the peat without a sound, and for the first mile
it cannot decide where to go: it fills one hollow, spills into the next, turns back on itself, and leaves pools behind that
belong to nobody. Then the valley takes it by the hand. The banks close in, the stones begin to talk, and what was a wet place
in the grass has become a stream that knows its way.

The thalweg is the line that joins the lowest points of a valley. Water finds it without a map. Whoever wants to know where a
river will run need not follow each drop; it is enough to know the ground. Rain that falls on the ridge may go one way or the
other, and a pebble decides it, but once it has chosen a side its way to the sea is written in the land.

In spring the stream is brown and loud, and carries branches, fence posts, and once a gate with its lock still shut. In summer
the children build dams of stone and turf, and the water waits behind them, patient, until it is high enough to go over the
top. In autumn the leaves sail down in fleets. In winter there is ice along the edges, and in the middle a dark line that never
freezes, and that line is the thalweg too.

People have lived along the water for as long as there have been people. They put the mill where the stream falls, the bridge
where it is narrow, the washing place where it is slow. They named the fields after it and the families after the fields. When
they quarreled, the middle of the stream was the border; when they made peace, they met on the bridge. The mill is a house
now, and the wheel stands in the garden, but on quiet nights the owner says that he can hear it turn.

Further down the stream is a river. It does not hurry. It has taken in nine others, and has had to learn their manners: the
cold one from the snow, the red one from the clay, the one that smells of tin. It carries them all together, at the speed of
the slowest, past the towns and the long meadows, and nobody who looks at it from the last bridge would say that it was ever
small enough to step over.
"""
UNITS, BATCH, LENGTH = 96, 16, 24


class Writer:
    """Letters in, scores of the next letters out; the state goes on from batch to batch."""

    def __init__(self, size):
        self.letters = tf.placeholder(tf.int32, [None, None], name="letters")
        self.targets = tf.placeholder(tf.int32, [None, None], name="targets")
        cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
        self.state = tf.placeholder(tf.float32, [2, None, UNITS], name="state")
        first = tf.nn.rnn_cell.LSTMStateTuple(self.state[0], self.state[1])
        outputs, last = tf.nn.dynamic_rnn(cell, tf.one_hot(self.letters, size), initial_state=first)
        self.last = tf.stack(list(last))
        self.scores = tf.layers.dense(outputs, size)
        self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.targets, logits=self.scores))
        optimizer = tf.train.AdamOptimizer(0.01)
        variables = tf.trainable_variables()
        gradients, _ = tf.clip_by_global_norm(tf.gradients(self.loss, variables), 5.0)
        self.step = optimizer.apply_gradients(list(zip(gradients, variables)))


def main(steps):
    tf.set_random_seed(1)
    text = " ".join(TEXT.split())
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(letter) for letter in text], np.int32)
    writer = Writer(len(alphabet))
    columns = len(codes) // BATCH  # the text is cut into as many strips as a batch has rows
    strips = codes[:BATCH * columns].reshape(BATCH, columns)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        place, state, losses = 0, np.zeros([2, BATCH, UNITS], np.float32), []
        for number in range(steps):
            if place + LENGTH + 1 > columns:
                place, state = 0, np.zeros_like(state)
            loss, state, _ = session.run([writer.loss, writer.last, writer.step], {
                writer.letters: strips[:, place:place + LENGTH], writer.targets: strips[:, place + 1:place + LENGTH + 1],
                writer.state: state})
            losses.append(loss)
            place += LENGTH
            if number % 100 == 99:
                print(f"step {number + 1}: {np.mean(losses[-100:]) / np.log(2):.2f} bits a letter")
        print(write(session, writer, alphabet, "The stream ", 120))
        print(f"bits a letter: {np.mean(losses[-20:]) / np.log(2):.2f}")


def write(session, writer, alphabet, beginning, count):
    """`beginning` and what the net thinks is likely to follow."""
    random, written, state = np.random.RandomState(0), beginning, np.zeros([2, 1, UNITS], np.float32)
    letters = [[alphabet.index(letter) for letter in beginning]]
    for _ in range(count):
        scores, state = session.run([writer.scores, writer.last], {writer.letters: letters, writer.state: state})
        chances = np.exp(2.0 * (scores[0, -1] - scores[0, -1].max()).astype(np.float64))
        letters = [[random.choice(len(alphabet), p=chances / chances.sum())]]
        written += alphabet[letters[0][0]]
    return written


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
