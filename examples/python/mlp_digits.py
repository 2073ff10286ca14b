# SPDX-License-Identifier: Apache-2.0
"""A multi-layer perceptron on the handwritten digits, with momentum and a learning rate that decays."""
import numpy as np
import thalweg as tf

import digits

SIZES = [64, 128, 64, 10]

images = tf.placeholder(tf.float32, [None, 64], name="images")
labels = tf.placeholder(tf.int32, [None], name="labels")
rate = tf.placeholder(tf.float32, [], name="rate")
random = np.random.RandomState(0)

x = images
for layer, (n_in, n_out) in enumerate(zip(SIZES, SIZES[1:])):
    w = tf.Variable((random.standard_normal([n_in, n_out]) * np.sqrt(2 / n_in)).astype(np.float32), name=f"w{layer}")
    x = tf.matmul(x, w) + tf.Variable(np.zeros(n_out, np.float32), name=f"b{layer}")
    if n_out != 10:
        x = tf.nn.relu(x)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x))
train = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.cast(tf.argmax(x, 1), tf.int32), labels), tf.float32))


def feed(part_images, part_labels):
    return {images: part_images.reshape(-1, 64), labels: part_labels}


part, validation, test = digits.load()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for epoch in range(30):
        for batch in part.batches(64, seed=epoch):
            session.run(train, {**feed(*batch), rate: 0.05 * (1 - epoch / 30)})
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}  validation accuracy {session.run(accuracy, feed(*validation)):.3f}")
    print(f"test accuracy: {session.run(accuracy, feed(*test)):.4f}")
