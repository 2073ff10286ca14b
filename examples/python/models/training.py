# SPDX-License-Identifier: Apache-2.0
"""What the model examples share: their arguments, and a training loop that shows loss and throughput.

    options = training.arguments(__doc__, steps=100, batch=32)
    ...
    training.run(options, loss, optimizer.minimize(loss), feeds, unit="images")
"""
import argparse
import os
import time

import numpy as np
import thalweg as tf


def arguments(description, **defaults):
    """--steps, --batch, --threads, --graph, and a flag for each further default."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for name, value in {**defaults, "threads": 0}.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    parser.add_argument("--graph", metavar="FILE", help="write the graph to FILE, for `thalweg inspect`, and train nothing")
    tf.set_random_seed(0)  # the same run every time
    return parser.parse_args()


def session(threads):
    """`threads` of 0: one for each processor."""
    return tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads))


def run(options, loss, train, feeds, unit="examples", items=None):
    """Runs `train` on the feeds that feeds(step) gives, options.steps times; prints a line about ten times on the way.

    items: how many of `unit` a step works through (the batch). The last line compares the mean loss of the first and the last
    tenth of the steps.
    """
    if options.graph:
        tf.train.write_graph(tf.get_default_graph(), *os.path.split(os.path.abspath(options.graph)), as_text=False)
        print(f"thalweg inspect --plan {options.graph} --fetch {loss.name} --target {train.name}")
        return
    items = items or options.batch
    losses, shown = [], max(options.steps // 10, 1)
    with session(options.threads) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run([loss], feeds(0))  # set-up, not timed
        started = since = time.perf_counter()
        for step in range(options.steps):
            losses.append(float(sess.run([loss, train], feeds(step))[0]))
            if not np.isfinite(losses[-1]):
                raise SystemExit(f"step {step + 1}: the loss is {losses[-1]}")
            if (step + 1) % shown == 0:
                now = time.perf_counter()
                print(f"step {step + 1:5}/{options.steps}  loss {np.mean(losses[-shown:]):8.4f}  "
                      f"{items * shown / (now - since):10,.1f} {unit}/s", flush=True)
                since = now
        rate = items * options.steps / (time.perf_counter() - started)
    tenth = max(len(losses) // 10, 1)
    print(f"loss {np.mean(losses[:tenth]):.4f} -> {np.mean(losses[-tenth:]):.4f} in {options.steps} steps, {rate:,.1f} {unit}/s")


def weights(shape, fan_in):
    """A variable for `fan_in` inputs a unit, as He and others start them."""
    return tf.Variable(tf.random_normal(shape, stddev=(2.0 / fan_in) ** 0.5))


def dense(x, units):
    """x * w + b."""
    size = int(x.shape[-1])
    return tf.nn.bias_add(tf.matmul(x, weights([size, units], size)), tf.Variable(tf.zeros([units])))


def conv(x, size, filters, stride=1, padding="SAME", bias=True):
    """A square convolution."""
    channels = int(x.shape[-1])
    y = tf.nn.conv2d(x, weights([size, size, channels, filters], size * size * channels), [1, stride, stride, 1], padding)
    return tf.nn.bias_add(y, tf.Variable(tf.zeros([filters]))) if bias else y


def max_pool(x, size, stride, padding="VALID"):
    return tf.nn.max_pool2d(x, size, stride, padding)


def flat(x):
    return tf.reshape(x, [-1, int(np.prod([int(d) for d in x.shape[1:]]))])


def cross_entropy(logits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels))
