# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional net on handwritten digits, saves it, restores it, and tests it: `./dev demo`.

    python demo.py [SEED] [FOLDER]      FOLDER gets the checkpoint and the picture demo.svg; build/demo without it
"""
import os
import sys
import time

import numpy as np
import thalweg as tf

import digits
import picture


class Net:
    """Images in, ten scores out: two convolutions, a pool, two dense layers; some 80,000 weights. `optimizer` is a function of the
    rate, which is fed."""

    def __init__(self, seed, optimizer=tf.train.AdamOptimizer, global_step=None):
        self.random = np.random.RandomState(seed)
        self.images = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
        self.labels = tf.placeholder(tf.int32, [None], name="labels")
        x = tf.nn.relu(self.convolution(self.images, 16, "conv1"))
        x = tf.nn.relu(self.convolution(x, 32, "conv2"))
        x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        x = tf.nn.relu(self.dense(tf.reshape(x, [-1, 4 * 4 * 32]), 128, "dense1"))
        self.scores = self.dense(x, 10, "dense2")
        self.loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=self.scores))
        self.rate = tf.placeholder(tf.float32, [], name="rate")
        self.step = optimizer(self.rate).minimize(self.loss, global_step=global_step)
        self.answers = tf.cast(tf.argmax(self.scores, 1), tf.int32)
        right = tf.equal(self.answers, self.labels)
        self.accuracy = tf.reduce_mean(tf.cast(right, tf.float32))

    def weights(self, shape, inputs, name):
        initial = self.random.standard_normal(shape) * np.sqrt(2.0 / inputs)
        return tf.Variable(initial.astype(np.float32), name=name)

    def convolution(self, x, channels, name):
        fan_in = 9 * int(x.shape[-1])
        w = self.weights([3, 3, int(x.shape[-1]), channels], fan_in, name + "/weights")
        b = tf.Variable(np.zeros(channels, np.float32), name=name + "/bias")
        return tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), b)

    def dense(self, x, n, name):
        w = self.weights([int(x.shape[-1]), n], int(x.shape[-1]), name + "/weights")
        return tf.matmul(x, w) + tf.Variable(np.zeros(n, np.float32), name=name + "/bias")


def moved(images, random):
    """The batch, moved by up to one pixel each way: the test images are not centered alike either."""
    down, right = random.randint(0, 3, 2)
    padded = np.pad(images, [(0, 0), (1, 1), (1, 1), (0, 0)])
    return np.ascontiguousarray(padded[:, down:down + 8, right:right + 8])


def train(net, session, part, validation, seed, epochs, show=lambda line: None):
    """(numbers of steps, the accuracy on the validation part after each)"""
    random, steps, accuracies = np.random.RandomState(seed), [], []
    for epoch in range(epochs):
        started, losses = time.time(), []
        rate = 2e-3 * (1 - epoch / epochs)
        for images, labels in part.batches(64, seed=1000 * seed + epoch):
            loss, _ = session.run([net.loss, net.step], {net.images: moved(images, random), net.labels: labels, net.rate: rate})
            losses.append(loss)
        accuracy = session.run(net.accuracy, {net.images: validation.images, net.labels: validation.labels})
        steps.append((epoch + 1) * len(losses))
        accuracies.append(float(accuracy))
        show(f"epoch {epoch + 1:2d}  loss {np.mean(losses):.4f}  validation accuracy {accuracy:.3f}  {time.time() - started:.2f} s")
    return steps, accuracies


def test_accuracy(seed, epochs=30, shuffled=False):
    """Accuracy on the test part of a net trained from this seed; with `shuffled`, on labels that mean nothing."""
    part, validation, test = digits.load()
    if shuffled:
        part = part.with_shuffled_labels(seed)
    with tf.Graph().as_default(), tf.Session() as session:
        net = Net(seed)
        session.run(tf.global_variables_initializer())
        train(net, session, part, validation, seed, epochs)
        return float(session.run(net.accuracy, {net.images: test.images, net.labels: test.labels}))


def main(seed, folder):
    part, validation, test = digits.load()
    print(f"handwritten digits: {len(part.labels)} to train on, {len(validation.labels)} to validate, {len(test.labels)} to test")
    os.makedirs(folder, exist_ok=True)
    net = Net(seed)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        learned = train(net, session, part, validation, seed, epochs=30, show=lambda line: print(line, flush=True))
        path = saver.save(session, os.path.join(folder, "digits.ckpt"))
    with tf.Session() as session:  # a new one: all that it knows comes from the file
        saver.restore(session, path)
        accuracy, said = session.run([net.accuracy, net.answers], {net.images: test.images, net.labels: test.labels})
    picture.write(os.path.join(folder, "demo.svg"), test, said, *learned)
    here = os.path.dirname(os.path.abspath(__file__))
    print(f"checkpoint: {path}\npicture: {os.path.join(folder, 'demo.svg')}\nprogram: {os.path.abspath(__file__)}\n"
          f"data: {os.path.relpath(digits.FOLDER, here)} beside it; "
          f"the same net in C++: {os.path.join(os.path.dirname(here), 'cpp', 'convnet_digits.cc')}")
    print(f"test accuracy: {accuracy:.4f}")


if __name__ == "__main__":
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0, sys.argv[2] if len(sys.argv) > 2 else os.path.join(root, "build", "demo"))
