# SPDX-License-Identifier: Apache-2.0
"""Processor time of a step of `fit` of a small dense net, and of the same loop of Session.run.

    PYTHONPATH=build/release/python .venvs/libraries/bin/python -m thalweg.as_tensorflow benchmarks/keras_fit.py
    .venvs/conformance-1.15/bin/python benchmarks/keras_fit.py

The net: 20 inputs, 32 and 32 units, one output; Adam; batches of 32 of 3,200 rows. Prints a JSON line for each of --rounds; `ratio` is that of fit
to the loop, `ratio of N replicas` that of fit under a MirroredStrategy to fit. Python 3.7 and later.
"""
import argparse
import json
import time

import numpy as np
import tensorflow as tf

ROWS, BATCH = 3200, 32


def seconds_a_step(function, steps):
    before = time.process_time()
    function()
    return (time.process_time() - before) / steps


def fit(x, y, epochs, verbose, replicas=0):
    """`replicas`: of a MirroredStrategy; 0 is without one."""
    layers = tf.keras.layers
    tf.keras.backend.clear_session()
    tf.keras.backend.set_session(tf.compat.v1.Session(config=tf.compat.v1.ConfigProto(device_count={"CPU": max(1, replicas)})))
    strategy = tf.distribute.MirroredStrategy(["/cpu:%d" % i for i in range(replicas)]) if replicas else tf.distribute.get_strategy()
    with strategy.scope():
        model = tf.keras.Sequential([layers.Dense(32, activation="relu", input_shape=(20,)), layers.Dense(32, activation="relu"), layers.Dense(1)])
        model.compile(tf.keras.optimizers.Adam(), "mse")
    model.fit(x, y, batch_size=BATCH, epochs=1, verbose=verbose)
    return seconds_a_step(lambda: model.fit(x, y, batch_size=BATCH, epochs=epochs, verbose=verbose), epochs * ROWS // BATCH)


def loop(x, y, epochs):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        inputs, labels = (tf.compat.v1.placeholder(tf.float32, [None, a.shape[1]]) for a in (x, y))
        hidden = inputs
        for number, (rows, columns) in enumerate(((20, 32), (32, 32), (32, 1))):
            weights = tf.Variable(tf.random.uniform([rows, columns], -0.3, 0.3))
            hidden = tf.matmul(hidden, weights) + tf.Variable(tf.zeros([columns]))
            hidden = tf.nn.relu(hidden) if number < 2 else hidden
        loss = tf.reduce_mean(tf.square(hidden - labels))
        step = tf.compat.v1.train.AdamOptimizer().minimize(loss)
        session.run(tf.compat.v1.global_variables_initializer())

        def run():
            for _ in range(epochs):
                order = np.random.permutation(ROWS)
                for at in range(0, ROWS, BATCH):
                    rows = order[at:at + BATCH]
                    session.run([loss, step], {inputs: x[rows], labels: y[rows]})
        run()
        return seconds_a_step(run, epochs * ROWS // BATCH)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--verbose", type=int, default=0, choices=(0, 1), help="with the progress bar")
    parser.add_argument("--replicas", type=int, nargs="*", default=[], help="of MirroredStrategies, beside which fit is one without")
    chosen = parser.parse_args()
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    features = np.random.RandomState(0).rand(ROWS, 20).astype("float32")
    targets = features.sum(1, keepdims=True)
    for _ in range(chosen.rounds):
        found = {"fit_s": fit(features, targets, chosen.epochs, chosen.verbose), "loop_s": loop(features, targets, chosen.epochs)}
        found["ratio"] = round(found["fit_s"] / found["loop_s"], 2)
        for count in chosen.replicas:
            found["ratio of %d replicas" % count] = round(fit(features, targets, chosen.epochs, chosen.verbose, count) / found["fit_s"], 2)
        print(json.dumps(found), flush=True)
