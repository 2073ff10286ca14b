# SPDX-License-Identifier: Apache-2.0
"""The example of the TensorFlow white paper (its Figure 1) in our words: C depends on relu(W x + b), and is run ten times."""
import numpy as np
import thalweg as tf

b = tf.Variable(tf.zeros([100, 1]))                             # 100 values, all zero
W = tf.Variable(tf.random_uniform([100, 784], -1, 1, seed=7))   # a matrix of random values
x = tf.placeholder(tf.float32, [784, 1], name="x")              # to be fed
relu = tf.nn.relu(tf.matmul(W, x) + b)
C = tf.reduce_sum(relu)                                         # a cost, computed from relu

s = tf.Session()
s.run(tf.global_variables_initializer())
for step in range(10):
    values = np.full([784, 1], step / 10, np.float32)
    result = s.run(C, feed_dict={x: values})
    print(step, round(float(result), 3))
s.close()
