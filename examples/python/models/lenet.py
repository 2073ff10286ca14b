# SPDX-License-Identifier: Apache-2.0
"""LeNet on the handwritten digits, enlarged to 28 x 28 pixels."""
import os
import sys

import numpy as np
import thalweg as tf

import training

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import digits

options = training.arguments(__doc__, steps=200, batch=64)
part, _, _ = digits.load()
large = np.pad(part.images.repeat(3, 1).repeat(3, 2), [[0, 0], [2, 2], [2, 2], [0, 0]])

images = tf.placeholder(tf.float32, [None, 28, 28, 1], name="images")
labels = tf.placeholder(tf.int32, [None], name="labels")
x = training.max_pool(tf.nn.relu(training.conv(images, 5, 32)), 2, 2)
x = training.max_pool(tf.nn.relu(training.conv(x, 5, 64)), 2, 2)
x = tf.nn.relu(training.dense(training.flat(x), 512))
loss = training.cross_entropy(training.dense(x, 10), labels)


def feeds(step):
    rows = np.random.RandomState(step).randint(0, len(large), options.batch)
    return {images: large[rows], labels: part.labels[rows]}


training.run(options, loss, tf.train.AdamOptimizer(1e-3).minimize(loss), feeds, unit="images")
