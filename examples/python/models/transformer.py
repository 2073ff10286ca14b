# SPDX-License-Identifier: Apache-2.0
"""A transformer encoder (Vaswani and others 2017) that learns to turn sequences of symbols around."""
import numpy as np
import thalweg as tf

import training

options = training.arguments(__doc__, steps=200, batch=16, length=32, symbols=16, units=128, heads=4, layers=2)
b, t, d, heads = options.batch, options.length, options.units, options.heads


def layer_norm(x):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-5) * tf.Variable(tf.ones([d])) + tf.Variable(tf.zeros([d]))


def attention(x):
    def split(v):
        return tf.transpose(tf.reshape(v, [b, t, heads, d // heads]), [0, 2, 1, 3])
    query, key, value = (split(v) for v in tf.split(training.dense(x, 3 * d), 3, 1))
    share = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / (d // heads) ** 0.5)
    mixed = tf.reshape(tf.transpose(tf.matmul(share, value), [0, 2, 1, 3]), [b * t, d])
    return training.dense(mixed, d)


sequence = tf.placeholder(tf.int32, [b, t], name="sequence")
symbol = tf.nn.embedding_lookup(tf.Variable(tf.random_normal([options.symbols, d])), sequence)
x = tf.reshape(symbol + tf.Variable(tf.random_normal([t, d])), [b * t, d])
for _ in range(options.layers):
    x = layer_norm(x + attention(x))
    x = layer_norm(x + training.dense(tf.nn.relu(training.dense(x, 4 * d)), d))
turned = tf.reshape(tf.reverse(sequence, [1]), [b * t])
loss = training.cross_entropy(training.dense(x, options.symbols), turned)


def feeds(step):
    return {sequence: np.random.RandomState(step).randint(0, options.symbols, [b, t])}


training.run(options, loss, tf.train.AdamOptimizer(1e-3).minimize(loss), feeds, unit="symbols", items=b * t)
