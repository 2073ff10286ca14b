# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 (He and others 2015, stride in the 3 x 3 convolutions) with batch normalization, on made images."""
import thalweg as tf

import gratings
import training

options = training.arguments(__doc__, steps=20, batch=8, size=224, classes=10)
updates = []


def norm(x, scale=1.0):
    """Normalized by the batch; the averages for inference follow slowly."""
    size = int(x.shape[-1])
    y, mean, variance = tf.nn.fused_batch_norm(x, tf.Variable(tf.fill([size], scale)), tf.Variable(tf.zeros([size])))
    for average, now in ((tf.Variable(tf.zeros([size]), trainable=False), mean),
                         (tf.Variable(tf.ones([size]), trainable=False), variance)):
        updates.append(tf.assign_sub(average, 0.1 * (average - now)))
    return y


def unit(x, size, filters, stride=1, scale=1.0):
    return norm(training.conv(x, size, filters, stride, bias=False), scale)


images, labels = gratings.placeholders(tf, options)
x = training.max_pool(tf.nn.relu(unit(images, 7, 64, 2)), 3, 2, "SAME")
for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
    for block in range(blocks):
        step = stride if block == 0 else 1
        skip = unit(x, 1, 4 * width, step) if block == 0 else x
        y = tf.nn.relu(unit(x, 1, width))
        y = tf.nn.relu(unit(y, 3, width, step))
        x = tf.nn.relu(unit(y, 1, 4 * width, scale=0.0) + skip)  # a block starts as nothing (Goyal and others 2017)
loss = training.cross_entropy(training.dense(tf.reduce_mean(x, [1, 2]), options.classes), labels)
with tf.control_dependencies(updates):
    train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
training.run(options, loss, train, gratings.feeds(images, labels, options), unit="images")
