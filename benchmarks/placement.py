# SPDX-License-Identifier: Apache-2.0
"""Steps as they are foreseen beside steps as they are measured: placement.py [--devices 2,4,8] [--seconds S] [--network NAME]

An Inception-like network, an LSTM and a wide-and-deep one over virtual CPUs of one process and one thread, placed

    one      all on the first device,
    default  as sessions place without a word,
    hand     by layers or branches, as a person would write it with tf.device,
    greedy   by cost (place_by_cost), search: by search (place_by_search).

A session first traces a few steps, whose costs its simulator then uses; what it foresees is the line `(chosen)` of explain_placement. A
step that was asked for without placement by cost is foreseen with every node bound to where it is. Measured is processor time, as other
work beside it disturbs that least, and as it is what a step takes on one thread. One JSON line for each network and number of devices, with
both orders, and every pair whose predictions differ by more than 15 % and whose measured order is another one.
"""
import argparse
import json
import re
import statistics
import time

import numpy as np
import thalweg as tf

TRACED = 16  # a power of two: the plan is made anew after it
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def weights(random, *shape):
    return tf.constant((random.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32))


def inception(on):
    random = np.random.RandomState(1)
    x = tf.placeholder(tf.float32, [4, 16, 16, 16], name="x")
    y = x
    for block in range(3):
        branches = []
        for branch, side in enumerate((1, 3, 5, 3)):
            with on(branch):
                z = tf.nn.relu(tf.nn.conv2d(y, weights(random, 1, 1, 16, 8), [1, 1, 1, 1], "SAME"))
                branches.append(tf.nn.relu(tf.nn.conv2d(z, weights(random, side, side, 8, 4), [1, 1, 1, 1], "SAME")))
        with on(0):
            y = tf.concat(branches, 3, name=f"block_{block}")
    with on(0):
        return x, tf.reduce_mean(y, [1, 2], name="y")


def lstm(on):
    random = np.random.RandomState(1)
    layers, steps, width = 4, 6, 64
    x = tf.placeholder(tf.float32, [steps, 16, width], name="x")
    with on(0):
        below = tf.unstack(x)
    for layer in range(layers):
        with on(layer):
            w = weights(random, 2 * width, 4 * width)
            h = c = tf.zeros([16, width])
            above = []
            for value in below:
                i, f, o, g = tf.split(tf.matmul(tf.concat([value, h], 1), w), 4, 1)
                c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
                h = tf.sigmoid(o) * tf.tanh(c)
                above.append(h)
            below = above
    with on(layers - 1):
        return x, tf.add_n(below, name="y")


def wide_and_deep(on):
    random = np.random.RandomState(1)
    x = tf.placeholder(tf.float32, [64, 8], name="x")
    columns = []
    for column in range(8):
        with on(column):
            ids = tf.cast(tf.abs(x[:, column]) * 100, tf.int32)
            columns.append(tf.gather(weights(random, 1000, 16), ids))
    with on(1):
        deep = tf.concat(columns, 1)
        for inner in (128, 64, 32):
            deep = tf.nn.relu(tf.matmul(deep, weights(random, int(deep.shape[1]), inner)))
        deep = tf.matmul(deep, weights(random, 32, 1))
    with on(0):
        wide = tf.matmul(x, weights(random, 8, 1))
        return x, tf.sigmoid(tf.add(wide, deep), name="y")


NETWORKS = {"inception": inception, "lstm": lstm, "wide_and_deep": wide_and_deep}


def foreseen(session):
    for line in session.explain_placement("y").splitlines():
        if "(chosen)" in line:
            number, unit = re.search(r"\(chosen\): (\S+) (\w+);", line).groups()
            return float(number) * UNITS[unit]
    raise RuntimeError("the session does not place by cost")


def places(run, x, y, value):
    """The names of the devices of what runs, by the step's graphs, each with how many nodes."""
    metadata = tf.RunMetadata()
    run(y, {x: value}, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    return [len(graph.node) for graph in metadata.partition_graphs]


def step(network, placed, devices, seconds):
    """(what is foreseen, what is measured, nodes by device)."""
    words = {"greedy": "+place_by_cost", "search": "+place_by_search"}

    def measured(word, on):
        with tf.Graph().as_default():
            x, y = NETWORKS[network](on)
            config = tf.ConfigProto(device_count={"CPU": devices}, inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
            config.experimental.disable_thread_spinning = True
            config.graph_options.rewrite_options.optimizers.extend([word] if word else [])
            value = np.random.RandomState(2).standard_normal(x.shape.as_list()).astype(np.float32)
            with tf.Session(config=config) as s:
                run = s.make_callable(y, [x])
                for _ in range(5):
                    run(value)
                for _ in range(TRACED):
                    s.run(y, {x: value}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=tf.RunMetadata())
                counts = places(s.run, x, y, value)
                for _ in range(3):
                    run(value)
                times, end = [], time.monotonic() + seconds
                while len(times) < 20 or time.monotonic() < end:
                    begun = time.process_time()
                    run(value)
                    times.append(time.process_time() - begun)
                return foreseen(s) if word else None, statistics.median(times), counts

    def bound(to):
        return lambda k: tf.device(f"/cpu:{to(k) % devices}")

    if placed in words:
        return measured(words[placed], lambda k: tf.device(None))
    if placed == "hand":
        return measured("+place_by_cost", bound(lambda k: k))
    if placed == "one":
        return measured("+place_by_cost", bound(lambda k: 0))
    _, time_of_step, counts = measured(None, lambda k: tf.device(None))
    return measured("+place_by_cost", bound(lambda k: 0))[0], time_of_step, counts


def row(network, devices, seconds):
    found = {placed: step(network, placed, devices, seconds) for placed in ("one", "default", "hand", "greedy", "search")}
    wrong = [[a, b] for a in found for b in found
             if found[a][0] * 1.15 < found[b][0] and found[a][1] > found[b][1]]
    return {"row": f"placement_{network}_{devices}",
            "foreseen_s": {placed: value[0] for placed, value in found.items()},
            "measured_s": {placed: round(value[1], 9) for placed, value in found.items()},
            "nodes": {placed: value[2] for placed, value in found.items()},
            "order_foreseen": sorted(found, key=lambda placed: found[placed][0]),
            "order_measured": sorted(found, key=lambda placed: found[placed][1]),
            "in_wrong_order": wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="2,4,8", help="numbers of virtual CPUs (2,4,8)")
    parser.add_argument("--network", choices=NETWORKS, help="one of them (all)")
    parser.add_argument("--seconds", type=float, default=2, help="how long each placement is measured (2)")
    a = parser.parse_args()
    for network in [a.network] if a.network else NETWORKS:
        for devices in map(int, a.devices.split(",")):
            print(json.dumps(row(network, devices, a.seconds)), flush=True)


main()
