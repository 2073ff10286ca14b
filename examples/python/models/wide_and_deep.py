# SPDX-License-Identifier: Apache-2.0
"""Wide and deep learning (Cheng and others 2016) of made clicks: tables of embeddings with sparse gradients, and a linear part."""
import numpy as np
import thalweg as tf

import training

options = training.arguments(__doc__, steps=300, batch=512, tables=8, rows=1000, width=16)

ids = tf.placeholder(tf.int32, [options.tables, options.batch], name="ids")
clicked = tf.placeholder(tf.float32, [options.batch], name="clicked")
columns = tf.unstack(ids)
deep = tf.concat([tf.nn.embedding_lookup(training.weights([options.rows, options.width], 200), i) for i in columns], 1)
for units in (128, 64):
    deep = tf.nn.relu(training.dense(deep, units))
wide = tf.add_n([tf.nn.embedding_lookup(tf.Variable(tf.zeros([options.rows])), i) for i in columns])
logits = tf.squeeze(training.dense(deep, 1), 1) + wide
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=clicked))

# What decides a click, hidden from the model: a weight of each value, and one pair of columns that counts together.
hidden = np.random.RandomState(0)
taste = hidden.standard_normal([options.tables, options.rows])
pair = hidden.standard_normal([10, 10])


def feeds(step):
    random = np.random.RandomState(step + 1)
    values = random.zipf(1.3, [options.tables, options.batch]) % options.rows
    score = taste[np.arange(options.tables)[:, None], values].sum(0) + 2 * pair[values[0] % 10, values[1] % 10]
    return {ids: values, clicked: (score > random.standard_normal(options.batch)).astype(np.float32)}


training.run(options, loss, tf.train.AdagradOptimizer(0.1).minimize(loss), feeds)
