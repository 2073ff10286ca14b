# SPDX-License-Identifier: Apache-2.0
"""A program as users write them, which a type checker accepts beside the installed package and test_wheel.py runs there."""
from __future__ import annotations

import sys

import numpy as np
import thalweg as tf


def batches(images: np.ndarray, labels: np.ndarray, size: int) -> tf.data.Dataset:
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    whole = dataset.shuffle(100, seed=1).repeat().batch(size, drop_remainder=True)
    return whole.map(lambda x, y: (tf.cast(x, tf.float32) / 255.0, y)).prefetch(1)


def model(x: tf.Tensor) -> tf.Tensor:
    hidden = tf.layers.dense(tf.reshape(x, [-1, 4]), 8, activation=tf.nn.relu)
    return tf.layers.dense(hidden, 3)


def train(steps: int, folder: str) -> tuple[float, str]:
    rng = np.random.RandomState(0)
    with tf.Graph().as_default():
        data = batches(rng.randint(0, 255, [40, 2, 2]).astype(np.uint8), rng.randint(0, 3, [40]), 8)
        iterator = tf.data.make_one_shot_iterator(data)
        x, y = iterator.get_next()
        logits = model(x)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(learning_rate=0.01)
        train_op = optimizer.minimize(loss, global_step=step)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.cast(y, tf.int64)), tf.float32))
        tf.summary.scalar("loss", loss)
        merged = tf.summary.merge_all()
        saver = tf.train.Saver(max_to_keep=2)
        writer = tf.summary.FileWriter(folder)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            value = 0.0
            for i in range(steps):
                _, value, _, text = sess.run([train_op, loss, accuracy, merged])
                writer.add_summary(text, i)
            path = saver.save(sess, folder + "/model", global_step=step)
            newest = tf.train.latest_checkpoint(folder)
            assert newest == path
            saver.restore(sess, path)
            return float(value), path


class Hook(tf.train.SessionRunHook):
    def before_run(self, run_context: tf.train.SessionRunContext) -> tf.train.SessionRunArgs:
        return tf.train.SessionRunArgs(tf.train.get_global_step())


print(train(3, sys.argv[1])[1])
