# SPDX-License-Identifier: Apache-2.0
"""VGG with 11 layers (Simonyan and Zisserman 2014, configuration A) on made images."""
import thalweg as tf

import gratings
import training

options = training.arguments(__doc__, steps=20, batch=8, size=224, classes=10, width=4096)
images, labels = gratings.placeholders(tf, options)
x = images
for filters, layers in ((64, 1), (128, 1), (256, 2), (512, 2), (512, 2)):
    for _ in range(layers):
        x = tf.nn.relu(training.conv(x, 3, filters))
    x = training.max_pool(x, 2, 2)
x = training.flat(x)
for _ in range(2):
    x = tf.nn.relu(training.dense(x, options.width))
loss = training.cross_entropy(training.dense(x, options.classes), labels)
training.run(options, loss, tf.train.MomentumOptimizer(1e-3, 0.9).minimize(loss), gratings.feeds(images, labels, options),
             unit="images")
