# SPDX-License-Identifier: Apache-2.0
"""AlexNet with one tower (Krizhevsky 2014) on made images."""
import thalweg as tf

import gratings
import training

options = training.arguments(__doc__, steps=30, batch=16, size=224, classes=10, width=4096)
images, labels = gratings.placeholders(tf, options)
x = tf.pad(images, [[0, 0], [2, 2], [2, 2], [0, 0]])
x = training.max_pool(tf.nn.relu(training.conv(x, 11, 64, 4, "VALID")), 3, 2)
x = training.max_pool(tf.nn.relu(training.conv(x, 5, 192)), 3, 2)
for filters in (384, 256, 256):
    x = tf.nn.relu(training.conv(x, 3, filters))
x = training.flat(training.max_pool(x, 3, 2))
for _ in range(2):
    x = tf.nn.dropout(tf.nn.relu(training.dense(x, options.width)), rate=0.5)
loss = training.cross_entropy(training.dense(x, options.classes), labels)
training.run(options, loss, tf.train.MomentumOptimizer(1e-3, 0.9).minimize(loss), gratings.feeds(images, labels, options),
             unit="images")
