# SPDX-License-Identifier: Apache-2.0
"""Our side of benchmarks/peers/workloads.md, through the Python package: thalweg_.py WORKLOAD --threads N --seconds S

Rows that TensorFlow has too are its own programs, peers/tf1.py, tf_nets.py and tf_int8.py, with our package in its place: the same
lines build both graphs.
Rows without a peer are below. Prints the line that the peers' scripts print.
"""
import os
import runpy
import sys
import threading

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")
sys.path.insert(0, PEERS)
import common

a = common.options()
import int8
import nets
import numpy as np
import thalweg as tf
from thalweg.control.functions import Defun

import step_profile

rng = np.random.RandomState(0)


def session():
    """Without optimizers: a row of n nodes runs n nodes."""
    config = tf.ConfigProto(intra_op_parallelism_threads=a.threads, inter_op_parallelism_threads=a.threads)
    config.graph_options.optimizer_options.opt_level = -1
    return tf.Session(config=config)


def report(step, warm=2, **more):
    common.emit(a, "thalweg", tf.__version__, common.measure(step, a.seconds, warm), **more)


def chain_2_callers():
    """Two threads run one plan, each a step; a step of this row is both."""
    s = session()
    x = start = tf.placeholder(tf.float32, [])
    one = tf.constant(1.0)
    for _ in range(common.CHAIN):
        x = x + one
    step = s.make_callable(x, [start])

    def both():
        other = threading.Thread(target=step, args=(np.float32(0),))
        other.start()
        step(np.float32(0))
        other.join()
    report(both, nodes=2 * common.CHAIN)


def dag_layered():
    """Layers of 100 scalar additions, each of two nodes of the layer before."""
    start = tf.placeholder(tf.float32, [])
    layer = [start + float(i) for i in range(100)]
    for _ in range(common.CHAIN // 100 - 1):
        picks = rng.randint(0, 100, (100, 2))
        layer = [layer[i] + layer[j] for i, j in picks]
    s = session()
    fetch = tf.group(*layer)
    report(lambda: s.run(fetch, {start: np.float32(0)}), nodes=common.CHAIN)


def chain_mixed():
    """1,000 nodes: 20 branches of 49 additions and a product of about 50 us."""
    start = tf.placeholder(tf.float32, [])
    matrix = tf.constant(np.full((160, 160), .5, "f"))
    ends = []
    for _ in range(20):
        x = start
        for _ in range(49):
            x = x + 1.0
        with tf.control_dependencies([x]):
            ends.append(tf.matmul(matrix, matrix))
    s = session()
    fetch = tf.group(*ends)
    report(lambda: s.run(fetch, {start: np.float32(0)}), nodes=1000)


def loop(body, start, n):
    limit = tf.placeholder(tf.int32, [])
    r = tf.while_loop(lambda i, *_: i < limit, body, [tf.constant(0)] + start, back_prop=False)
    s = session()
    report(lambda: s.run(r[1], {limit: np.int32(n)}), nodes=n, warm=1)


def while_nested():
    def inner(_):
        return tf.while_loop(lambda j: j < 100, lambda j: j + 1, [tf.constant(0)], back_prop=False)
    loop(lambda i, x: (i + 1, inner(x)), [tf.constant(0)], 100)


def while_cond():
    loop(lambda i, x: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: x + 1, lambda: x - 1)), [tf.constant(0)], 10000)


def while_queue():
    """Each iteration puts its number into a queue, takes it out and adds it up."""
    queue = tf.FIFOQueue(64, tf.int32, shapes=[[]])

    def body(i, total):
        with tf.control_dependencies([queue.enqueue(i)]):
            return i + 1, total + queue.dequeue()
    loop(body, [tf.constant(0)], 100000)


def while_parallel():
    """16 iterations that need nothing of each other but their number: four products of about 150 us, the sum kept in an array.
    The variant `serial` lets one iteration begin when the one before has ended."""
    matrix = tf.constant(np.full((256, 256), 1 / 256, "f"))

    def body(i, sums):
        x = matrix * tf.cast(i, tf.float32)
        for _ in range(4):
            x = tf.matmul(x, matrix)
        return i + 1, sums.write(i, tf.reduce_sum(x))
    limit = tf.placeholder(tf.int32, [])
    _, sums = tf.while_loop(lambda i, _: i < limit, body, [tf.constant(0), tf.TensorArray(tf.float32, limit)], back_prop=False,
                            parallel_iterations=1 if a.variant == "serial" else 10)
    total, s = tf.reduce_sum(sums.stack()), session()
    report(lambda: s.run(total, {limit: np.int32(16)}), nodes=16)


def while_function():
    """A counting loop with a conditional inside a function; the variant `frames` has the same loop in the graph itself."""
    def count(limit):
        return tf.while_loop(lambda i, *_: i < limit, lambda i, x: (
            i + 1, tf.cond(tf.equal(i % 2, 0), lambda: x + 1, lambda: x - 1)), [tf.constant(0), tf.constant(0)], back_prop=False)[1]
    if a.variant != "frames":
        count = Defun(tf.int32)(count)
    limit = tf.placeholder(tf.int32, [])
    r, s = count(limit), session()
    report(lambda: s.run(r, {limit: np.int32(10000)}), nodes=10000, warm=1)


def lstm_pair():
    """The rows lstm (variant `unrolled`) and lstm_dynamic (`dynamic`), in turn."""
    sys.argv = [sys.argv[0], {"unrolled": "lstm", "dynamic": "lstm_dynamic"}[a.variant], "--threads", str(a.threads), "--seconds",
                str(a.seconds)]
    as_tensorflow()


def sparse_update(gib):
    """Trains 10,000 rows of 64 floats, the same each time, of a table of so many GiB that was made as zeros."""
    rows, touched = gib * 2**30 // 256, 10_000
    table = tf.get_variable("table", [rows, 64], initializer=tf.zeros_initializer())
    ids = tf.placeholder(tf.int64, [touched])
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids) - 1.0))
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9) if a.variant == "momentum" else tf.train.GradientDescentOptimizer(0.1)
    train = optimizer.minimize(loss)
    s = session()
    s.run(tf.global_variables_initializer())
    step = s.make_callable(train, [ids])
    chosen = rng.permutation(np.arange(touched) * (rows // touched))
    report(lambda: step(chosen))


def sparse_update_1g():
    sparse_update(1)


def sparse_update_16g():
    sparse_update(16)


def compilations(fetch, feeds):
    """Each step compiles the graph for a new session, which runs nothing."""
    def compiles():
        with session() as s:
            s.make_callable(fetch, feeds)
    report(compiles, warm=1)


def compile_outputs():
    """One node of 10^6 outputs, each fetched."""
    x = tf.placeholder(tf.float32, [10 ** 6])
    compilations(tf.split(x, 10 ** 6), [x])


def compile_stack():
    """One node of 10^5 inputs."""
    x = tf.placeholder(tf.float32, [])
    compilations(tf.stack([x] * 10 ** 5), [x])


def compile_functions():
    """500 functions that call each other in a chain."""
    graph_def = tf.GraphDef()
    for i in range(500):
        function = graph_def.library.function.add()
        function.signature.name = "F%d" % i
        function.signature.input_arg.add(name="x", type=1)
        function.signature.output_arg.add(name="y", type=1)
        function.ret["y"] = "call:y:0"
        call = function.node_def.add(name="call", op="F%d" % (i + 1) if i < 499 else "Neg", input=["x"])
        if i == 499:
            call.attr["T"].type = 1
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    graph_def.node.add(name="y", op="F0", input=["x"])
    tf.import_graph_def(graph_def, name="")
    compilations("y:0", ["x:0"])


def as_tensorflow():
    """The row of peers/tf1.py, peers/tf_nets.py or peers/tf_int8.py, run by us."""
    for name in ("tensorflow", "tensorflow.compat", "tensorflow.compat.v1"):
        sys.modules[name] = tf
    emit = common.emit
    recorder = step_profile.Recorder(tf, common) if a.variant == "profile" else None

    def ours(a, peer, version, times, **more):
        kernels = {} if recorder is None else {"kernels": recorder.kernels(), "traced_s": recorder.seconds,
                                               "peak_bytes": recorder.planned_peak()}
        emit(a, "thalweg", tf.__version__, times, **more, **kernels)
    common.emit = ours
    script = "tf_nets.py" if a.workload in nets.NAMES else "tf_int8.py" if a.workload in int8.NAMES else "tf1.py"
    runpy.run_path(os.path.join(PEERS, script), run_name="__main__")


OWN = {f.__name__: f for f in (chain_2_callers, chain_mixed, compile_functions, compile_outputs, compile_stack, dag_layered, lstm_pair,
                              sparse_update_1g, sparse_update_16g, while_cond, while_function, while_nested, while_parallel, while_queue)}

if __name__ == "__main__":
    OWN.get(a.workload, as_tensorflow)()
