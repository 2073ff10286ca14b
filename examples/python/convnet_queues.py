# SPDX-License-Identifier: Apache-2.0
"""A convolutional net fed by queues: threads cut, distort and shuffle the digits while the net trains on the batches before.

    python convnet_queues.py [STEPS]

The pipeline is part of the graph: a producer of row numbers, a gather, distortions, a queue that shuffles. The session
fills the queues, counts the steps, stops at the last one and shows the rate; nothing is fed.
"""
import sys

import thalweg as tf

import digits

BATCH = 64


def distorted(image):
    """The image moved by up to one pixel, brighter or darker."""
    corner = tf.concat([tf.random_uniform([2], 0, 3, tf.int32, seed=1), [0]], 0)
    image = tf.slice(tf.pad(image, [[1, 1], [1, 1], [0, 0]]), corner, [8, 8, 1])
    return image * tf.random_uniform([], 0.9, 1.1, seed=2)


def batches(part):
    """Images and labels of the next batch, from queues."""
    image, label = tf.train.slice_input_producer([tf.constant(part.images), tf.constant(part.labels)], seed=3)
    return tf.train.shuffle_batch([distorted(image), label], BATCH, capacity=8 * BATCH, min_after_dequeue=4 * BATCH,
                                  num_threads=2, seed=4)


def convolution(x, channels, name):
    with tf.variable_scope(name):
        w = tf.get_variable("weights", [3, 3, int(x.shape[-1]), channels])
        b = tf.get_variable("bias", [channels], initializer=tf.zeros_initializer())
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), b))


def dense(x, n, name):
    with tf.variable_scope(name):
        w = tf.get_variable("weights", [int(x.shape[-1]), n])
        return tf.matmul(x, w) + tf.get_variable("bias", [n], initializer=tf.zeros_initializer())


def scores(images):
    """Two convolutions, a pool, two dense layers."""
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        x = convolution(convolution(images, 16, "conv1"), 32, "conv2")
        x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        x = tf.nn.relu(dense(tf.reshape(x, [-1, 4 * 4 * 32]), 64, "dense1"))
        return dense(x, 10, "dense2")


def main(steps):
    tf.set_random_seed(7)
    train, _, test = digits.load()
    images, labels = batches(train)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores(images)))
    step = tf.train.get_or_create_global_step()
    update = tf.train.AdamOptimizer(2e-3).minimize(loss, global_step=step)
    found = tf.cast(tf.argmax(scores(tf.constant(test.images)), 1), tf.int32)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(found, tf.constant(test.labels)), tf.float32))
    last = tf.train.FinalOpsHook(accuracy)
    hooks = [tf.train.StopAtStepHook(last_step=steps), tf.train.NanTensorHook(loss), last]
    with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
        while not session.should_stop():
            value, n, _ = session.run([loss, step, update])
            if n % 100 == 0:
                print(f"step {n:4d}  loss {value:.4f}")
    print(f"test accuracy: {last.final_ops_values:.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
