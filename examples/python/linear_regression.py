# SPDX-License-Identifier: Apache-2.0
"""Fits a line to noisy points by gradient descent, the smallest program that trains."""
import numpy as np
import thalweg as tf

x = tf.placeholder(tf.float32, [None, 1], name="x")
y = tf.placeholder(tf.float32, [None, 1], name="y")
w = tf.Variable(tf.zeros([1, 1]), name="w")
b = tf.Variable(tf.zeros([1]), name="b")
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
train = tf.train.GradientDescentOptimizer(0.3).minimize(loss)

random = np.random.RandomState(0)
xs = random.uniform(0, 1, [200, 1]).astype(np.float32)
ys = (3 * xs + 2 + random.normal(0, 0.05, xs.shape)).astype(np.float32)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(301):
        error, _ = session.run([loss, train], {x: xs, y: ys})
        if step % 100 == 0:
            print(f"step {step:3d}  loss {error:.5f}")
    slope, offset = session.run([w, b])
print(f"y = {slope.item():.2f} x + {offset.item():.2f}")
