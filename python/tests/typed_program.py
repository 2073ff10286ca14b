# SPDX-License-Identifier: Apache-2.0
"""A program with types, which `mypy --strict` accepts (./dev lint) and test_stubs.py runs."""
from __future__ import annotations

import numpy as np
import thalweg as tf


def net(x: tf.Tensor, hidden: int, dtype: tf.DType = tf.float32) -> tf.Tensor:
    """Two layers, the first by hand."""
    columns = x.shape.as_list()[-1]
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        w = tf.get_variable("w", [columns, hidden], dtype, tf.random_normal_initializer(0.0, 0.1, seed=1))
        b = tf.get_variable("b", [hidden], dtype, tf.zeros_initializer())
        h = tf.nn.relu(tf.matmul(x, w) + b)
        return tf.layers.dense(h, 1, name="out")


def train(steps: int, rate: float) -> list[float]:
    """The losses of some steps of gradient descent."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [None, 2], "x")
        y = tf.placeholder(tf.float32, [None, 1])
        loss = tf.reduce_mean(tf.square(net(x, 8) - y))
        optimizer = tf.train.GradientDescentOptimizer(rate)
        gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, tf.trainable_variables()), 5.0)
        step: tf.Operation = optimizer.apply_gradients(zip(gradients, tf.trainable_variables()))
        config = tf.ConfigProto(allow_soft_placement=True)
        config.gpu_options.allow_growth = True
        inputs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
        feed = {x: inputs, y: inputs.sum(axis=1, keepdims=True)}
        with tf.Session(graph=graph, config=config) as sess:
            sess.run(tf.global_variables_initializer())
            losses = []
            for _ in range(steps):
                value, size, _ = sess.run([loss, norm, step], feed_dict=feed)
                losses.append(float(value))
            return losses


def missing(path: str) -> bool:
    """Whether a checkpoint is not there."""
    try:
        with tf.Session() as sess:
            tf.train.Saver([tf.Variable(1.0, name="v")]).restore(sess, path)
    except (tf.errors.NotFoundError, ValueError) as error:
        return path in str(error)
    return False
