# SPDX-License-Identifier: Apache-2.0
"""A program with types over the upper layers: cells, layers, losses, metrics, summaries, checkpoints, hooks, an Estimator. As
typed_program.py, `mypy --strict` accepts it and test_stubs.py runs it."""
from __future__ import annotations

import os
from typing import Any

import numpy as np
import thalweg as tf


class Sum(tf.nn.rnn_cell.RNNCell):
    """A cell that adds up what it reads."""

    def __init__(self, size: int) -> None:
        super().__init__(name="sum")
        self._size = size

    @property
    def state_size(self) -> int:
        return self._size

    @property
    def output_size(self) -> int:
        return self._size

    def call(self, inputs: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return inputs + state, inputs + state


class Losses(tf.train.SessionRunHook):
    """Keeps the losses of all runs."""

    def __init__(self, loss: tf.Tensor) -> None:
        self._loss, self.seen = loss, list[float]()

    def before_run(self, run_context: tf.train.SessionRunContext) -> tf.train.SessionRunArgs:
        return tf.train.SessionRunArgs(self._loss)

    def after_run(self, run_context: tf.train.SessionRunContext, run_values: tf.train.SessionRunValues) -> None:
        self.seen.append(float(run_values.results))


def scores_of(images: tf.Tensor, training: bool | tf.Tensor) -> tf.Tensor:
    """Logits of two classes for images of any size."""
    with tf.contrib.framework.arg_scope([tf.contrib.layers.conv2d], activation_fn=None, biases_initializer=None):
        y = tf.contrib.layers.conv2d(images, 4, [3, 3], padding="SAME")
    y = tf.nn.relu(tf.layers.batch_normalization(y, training=training))
    y = tf.layers.max_pooling2d(y, pool_size=2, strides=2)
    y = tf.layers.dropout(tf.layers.flatten(y), 0.1, training=training)
    return tf.layers.dense(y, 2, kernel_regularizer=tf.contrib.layers.l2_regularizer(1e-4))


def train(folder: str, steps: int) -> tuple[list[float], str]:
    """(losses, the newest checkpoint) of a classifier that tells bright images from dark ones."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        images = tf.random_uniform([32, 4, 4, 1])
        labels = tf.cast(tf.reduce_mean(images, [1, 2, 3]) > 0.5, tf.int64)
        scores = scores_of(images, True)
        tf.losses.sparse_softmax_cross_entropy(labels, scores)
        loss = tf.losses.get_total_loss()
        accuracy, update = tf.metrics.accuracy(labels, tf.argmax(scores, 1))
        tf.summary.scalar("loss", loss)
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.1, step, decay_steps=10, decay_rate=0.9)
        with tf.control_dependencies([*tf.get_collection(tf.GraphKeys.UPDATE_OPS), update]):
            train_op: tf.Operation = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)
        hook = Losses(loss)
        hooks = [hook, tf.train.StopAtStepHook(last_step=steps), tf.train.NanTensorHook(loss)]
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks, log_step_count_steps=None) as sess:
            while not sess.should_stop():
                sess.run(train_op)
    newest = tf.train.latest_checkpoint(folder)
    assert newest is not None
    return hook.seen, newest


def sums(rows: np.ndarray[Any, np.dtype[np.float32]]) -> list[float]:
    """The sum of each row, by a recurrent network of a cell of our own."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, None, 1])
        _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.ResidualWrapper(Sum(1)), x, dtype=tf.float32)
        last: tf.Tensor = state
        return [float(v) for v in sess.run(last, {x: rows[..., None]})[:, 0]]


def line(features: dict[str, tf.Tensor], labels: tf.Tensor | None, mode: str) -> tf.estimator.EstimatorSpec:
    """A model function: y = w * x."""
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    y = w * features["x"]
    if mode == tf.estimator.ModeKeys.PREDICT or labels is None:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def slope(folder: str) -> float:
    """What an Estimator finds for w; a summary and a saver of its own look at the same checkpoint."""
    x = np.array([1.0, 2.0], np.float32)
    estimator = tf.estimator.Estimator(line, os.path.join(folder, "line"))
    estimator.train(tf.estimator.inputs.numpy_input_fn({"x": x}, 3 * x, 2, num_epochs=None, shuffle=True), steps=50)
    path = estimator.latest_checkpoint()
    assert path is not None and "w" in estimator.get_variable_names()
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        w = tf.get_variable("w", [])
        tf.train.Saver([w]).restore(sess, path)
        with tf.summary.FileWriter(folder, graph) as writer:
            writer.add_summary(sess.run(tf.summary.scalar("w", w)), global_step=50)
        return float(sess.run(w))


def classified(folder: str) -> tuple[float, str]:
    """The accuracy of a ready-made model of two columns, and where it was exported to."""
    column = tf.feature_column
    age = column.numeric_column("age", normalizer_fn=lambda x: x / 100.0)
    town = column.categorical_column_with_vocabulary_list("town", ["here", "there"])
    model = tf.estimator.DNNClassifier([4], [age, column.embedding_column(town, 2, initializer=tf.ones_initializer())],
                                       os.path.join(folder, "classified"), config=tf.estimator.RunConfig(tf_random_seed=1))
    rows = {"age": np.array([20.0, 70.0]), "town": np.array(["here", "there"])}
    model.train(tf.estimator.inputs.numpy_input_fn(rows, np.array([0, 1]), num_epochs=None, shuffle=False), steps=100)
    found = model.evaluate(tf.estimator.inputs.numpy_input_fn(rows, np.array([0, 1]), shuffle=False))
    spec = column.make_parse_example_spec([age, town])
    path = model.export_saved_model(folder, tf.estimator.export.build_parsing_serving_input_receiver_fn(spec))
    return float(found["accuracy"]), path.decode()
