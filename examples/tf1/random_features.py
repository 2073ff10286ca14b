# SPDX-License-Identifier: Apache-2.0
"""Regression on random Fourier features, solved in closed form; the measure: test error beside the noise in the data."""
import numpy as np
import tensorflow as tf

tf.app.flags.DEFINE_integer("features", 200, "random features")
FLAGS = tf.app.flags.FLAGS


def data(count, seed):
    r = np.random.RandomState(seed)
    x = r.uniform(-3, 3, [count, 2])
    return x, np.sin(2 * x[:, :1]) * np.cos(x[:, 1:]) + 0.1 * r.randn(count, 1)


def main(_):
    x_train, y_train = data(1500, 1)
    x_test, y_test = data(500, 2)
    x = tf.placeholder(tf.float64, [None, 2])
    y = tf.placeholder(tf.float64, [None, 1])
    directions = tf.Variable(tf.random_normal([2, FLAGS.features], stddev=1.5, dtype=tf.float64, seed=3), trainable=False)
    phases = tf.Variable(tf.random_uniform([FLAGS.features], maxval=2 * np.pi, dtype=tf.float64, seed=4), trainable=False)
    phi = tf.cos(tf.matmul(x, directions) + phases) * np.sqrt(2.0 / FLAGS.features)
    weights = tf.Variable(tf.zeros([FLAGS.features, 1], tf.float64), trainable=False)
    fit = weights.assign(tf.matrix_solve_ls(phi, y, l2_regularizer=1e-3))
    error = tf.sqrt(tf.reduce_mean(tf.squared_difference(tf.matmul(phi, weights), y)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        print("error before: %.3f" % session.run(error, {x: x_test, y: y_test}))
        session.run(fit, {x: x_train, y: y_train})
        print("test error: %.3f, noise: 0.100" % session.run(error, {x: x_test, y: y_test}))


if __name__ == "__main__":
    tf.app.run()
