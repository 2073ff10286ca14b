# SPDX-License-Identifier: Apache-2.0
"""What the OpenCL device takes, beside the CPU in the same process: opencl.py [--seconds S]

    call      a kernel over one element, of a chain of 500 in one step,
    product   512 x 512 x 512 and 100 x 784 x 500, in float32,
    copy      64 MB to the device and back, beside a copy within the host,
    placed    a training step of a small dense net, all on the device and placed by cost, beside all on the CPU,
    mlp, lenet   a training step of the rows of those names, each in a process of its own.

Processor time, as other work beside it disturbs it least: of all threads of the process, the driver's too. One JSON line for each.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CHAIN = 500
SIDE = 64 << 20


def measure(run, seconds):
    """The median processor time of run(), of at least five."""
    run()
    times, end = [], time.monotonic() + seconds
    while len(times) < 5 or time.monotonic() < end:
        begun = time.process_time()
        run()
        times.append(time.process_time() - begun)
    return statistics.median(times)


def emit(row, gpu, cpu, **more):
    print(json.dumps({"row": row, "gpu_s": gpu, "cpu_s": cpu, "ratio": round(gpu / cpu, 2), **more}), flush=True)


def rows(seconds):
    import numpy as np
    import thalweg as tf

    def on(device, make):
        with tf.Graph().as_default():
            with tf.device(device):
                steps = make()
            with tf.Session() as s:
                s.run(tf.global_variables_initializer())
                return measure(s.make_callable(steps), seconds)

    def chain():
        x = tf.get_variable("x", [1], initializer=tf.ones_initializer(), use_resource=True)
        y = x.read_value()
        for _ in range(CHAIN):
            y = tf.negative(y)
        return y

    calls = [on(device, chain) / CHAIN for device in ("/gpu:0", "/cpu:0")]
    emit("call", *calls)
    for m, k, n in ((512, 512, 512), (100, 784, 500)):
        def product(m=m, k=k, n=n):
            a, b = (tf.get_variable(name, shape, initializer=tf.ones_initializer(), use_resource=True)
                    for name, shape in (("a", [m, k]), ("b", [k, n])))
            return tf.matmul(a, b)[0, 0]  # fetched: a step does not wait for work that nobody reads
        times = [on(device, product) for device in ("/gpu:0", "/cpu:0")]
        emit(f"product_{m}x{k}x{n}", *times, gflops=round(2e-9 * m * k * n / times[0], 1), gflops_cpu=round(2e-9 * m * k * n / times[1], 1))
    value = np.ones(SIDE // 4, np.float32)
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [SIDE // 4])
        first = tf.identity(x)[0]
        y = tf.get_variable("y", [SIDE // 4], initializer=tf.ones_initializer(), use_resource=True)
        with tf.Session() as s:
            s.run(tf.global_variables_initializer())
            there = measure(lambda: s.run(first, {x: value}), seconds)
            back = measure(lambda: s.run(y), seconds)
    here = measure(value.copy, seconds)
    emit("copy_there", there, here, gb_s=round(SIDE / there / 1e9, 2))
    emit("copy_back", back, here, gb_s=round(SIDE / back / 1e9, 2))


def placed(seconds):
    import numpy as np
    import thalweg as tf
    random = np.random.RandomState(1)

    def step(device, words):
        with tf.Graph().as_default():
            with tf.device(device):
                x, width = tf.constant(random.standard_normal((32, 64)).astype(np.float32)), 64
                for outputs in (50, 30, 10):
                    w = tf.Variable(random.standard_normal((width, outputs)).astype(np.float32) / 8, use_resource=True)
                    x, width = tf.tanh(tf.matmul(x, w)), outputs
                loss = tf.reduce_mean(tf.square(x))
                train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            config = tf.ConfigProto(allow_soft_placement=True)
            config.graph_options.rewrite_options.optimizers.extend(words)
            with tf.Session(config=config) as s:
                s.run(tf.global_variables_initializer())
                return measure(lambda: s.run([loss, train]), seconds)

    there, here = (step(device, ()) for device in ("/gpu:0", "/cpu:0"))
    emit("placed", there, here, by_cost_s=step(None, ["+place_by_cost"]), by_search_s=step(None, ["+place_by_search"]))


def training(row, seconds):
    times = []
    for count in ("GPU=1", ""):
        command = [sys.executable, os.path.join(HERE, "thalweg_.py"), row, "--threads", "2", "--seconds", str(seconds)]
        out = subprocess.run(command, env=dict(os.environ, THALWEG_DEVICE_COUNT=count), stdout=subprocess.PIPE, text=True, check=True).stdout
        times.append(json.loads(out.splitlines()[-1])["cpu_s"])
    emit(row, *times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3, help="how long each is measured (3)")
    a = parser.parse_args()
    os.environ["THALWEG_DEVICE_COUNT"] = "GPU=1"
    rows(a.seconds)
    placed(a.seconds)
    for row in ("mlp", "lenet"):
        training(row, a.seconds)


main()
