# SPDX-License-Identifier: Apache-2.0
"""A language model of characters: two LSTM layers (Zaremba and others 2014), unrolled, that read this project's license."""
import os

import numpy as np
import thalweg as tf

import training

options = training.arguments(__doc__, steps=200, batch=20, length=20, units=200)
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
with open(os.path.join(ROOT, "LICENSE"), encoding="utf-8") as f:
    characters, text = np.unique(list(f.read()), return_inverse=True)

read = tf.placeholder(tf.int32, [options.batch, options.length], name="read")
following = tf.placeholder(tf.int32, [options.batch, options.length], name="following")
embedding = training.weights([len(characters), options.units], options.units)
inputs = tf.unstack(tf.nn.embedding_lookup(embedding, read), axis=1)
for _ in range(2):
    w = training.weights([2 * options.units, 4 * options.units], 4 * options.units)
    b = tf.Variable(tf.zeros([4 * options.units]))
    h = c = tf.zeros([options.batch, options.units])
    outputs = []
    for x in inputs:
        gate, new, forget, out = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), w), b), 4, 1)
        c = c * tf.sigmoid(forget + 1.0) + tf.sigmoid(gate) * tf.tanh(new)
        h = tf.tanh(c) * tf.sigmoid(out)
        outputs.append(h)
    inputs = outputs
logits = training.dense(tf.reshape(tf.stack(inputs, 1), [-1, options.units]), len(characters))
loss = training.cross_entropy(logits, tf.reshape(following, [-1]))

optimizer = tf.train.AdamOptimizer(2e-3)
gradients, variables = zip(*optimizer.compute_gradients(loss))
clipped, _ = tf.clip_by_global_norm(gradients, 5.0)
train = optimizer.apply_gradients(zip(clipped, variables))


def feeds(step):
    starts = np.random.RandomState(step).randint(0, len(text) - options.length - 1, options.batch)
    rows = text[starts[:, None] + np.arange(options.length + 1)]
    return {read: rows[:, :-1], following: rows[:, 1:]}


training.run(options, loss, train, feeds, unit="characters", items=options.batch * options.length)
