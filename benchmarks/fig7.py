# SPDX-License-Identifier: Apache-2.0
"""Steps of 1 to 32 workers that fetch from 16 parameter servers, the shapes of Fig. 7 of the OSDI paper, on loopback:
fig7.py fig7_SHAPE [--variant tensorflow]

    scalar                one number from each server
    dense_100M            100 MB in all; the worker reads every byte (the largest element of each part)
    sparse_1G, _16G       32 rows of 64 floats, two from each server, gathered there from tables of so many bytes in all

All servers of a job are in one process, `tf.train.Server` each: 16 ps in one, 32 workers in the other, where each worker that works has
a client in a thread of its own, a session on its own server and a graph of its own. Nothing is sent back. Tables are made without being
written, so that memory stays virtual in both systems; 10,000 rows, spread evenly, are written before, and steps ask for those.
Prints one line for each number of workers: step times of all workers together, and steps a second of all.
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "peers"))
import common
import processes

a = common.options()
ours = a.variant != "tensorflow"
if ours:
    import thalweg as tf
else:
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()

SERVERS, WORKERS = 16, (1, 2, 4, 8, 16, 32)
TOUCHED = 10_000 // SERVERS  # rows of each table
DEADLINE = 170               # seconds of the whole program
shape, _, size = a.workload.removeprefix("fig7_").partition("_")
size = int(size[:-1]) * {"M": 10**6, "G": 2**30}[size[-1]] // SERVERS if size else 4


def untouched(shape, dtype=None, partition_info=None):
    return tf.raw_ops.Empty(shape=tf.constant(shape, tf.int32), dtype=dtype, init=False)


def graph_of(worker):
    """(the graph, what makes the variables, a step) of a worker."""
    with tf.Graph().as_default() as graph:
        params, sparse = [], shape == "sparse"
        for i in range(SERVERS):
            with tf.device("/job:ps/task:%d" % i):
                params.append(tf.get_variable("v%d" % i, [size // 256, 64] if sparse else [size // 4], tf.float32,
                                              initializer=untouched if sparse else tf.zeros_initializer()))
        made = tf.global_variables_initializer()
        stride = size // 256 // TOUCHED
        if sparse:
            rows, ones = [i * stride for i in range(TOUCHED)], [[1.0] * 64] * TOUCHED
            with tf.control_dependencies([made]):
                made = tf.group(*[tf.scatter_update(p, rows, ones) for p in params])
        with tf.device("/job:worker/task:%d" % worker):
            if sparse:
                ids = tf.unstack(stride * tf.random_uniform([SERVERS, 32 // SERVERS], maxval=TOUCHED, dtype=tf.int32))
                read = [tf.nn.embedding_lookup(p, i) for p, i in zip(params, ids)]
            else:
                read = [tf.reduce_max(p) for p in params]
            return graph, made, tf.add_n(read).op


def session_of(target, worker):
    """(a session of the worker, its step); the first makes the variables."""
    graph, made, step = graph_of(worker)
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % worker])
    session = tf.Session(target, graph=graph, config=config)
    if not worker:
        session.run(made)
    return session, step


def work(number, session, step, begin, out):
    for _ in range(3):
        session.run(step)
    begin.wait()
    out[number] = common.measure(lambda: session.run(step), a.seconds, warm=0)


def measure(clients):
    """Times of all steps when so many clients work at once, and how many steps a second that is."""
    out, begin = {}, threading.Barrier(len(clients) + 1)
    threads = [threading.Thread(target=work, args=(i, *client, begin, out)) for i, client in enumerate(clients)]
    for t in threads:
        t.start()
    begin.wait()
    began = time.perf_counter()
    for t in threads:
        t.join()
    took = time.perf_counter() - began
    times = [each for own in out.values() for each in own]
    return times, len(times) / took


def serve(cluster, job):
    return [tf.train.Server(cluster, job_name=job, task_index=task) for task in range(len(cluster[job]))]


def main():
    signal.alarm(DEADLINE)  # ends this process, with which the other ends
    if "FIG7_PS" in os.environ:
        servers = serve(json.loads(os.environ["FIG7_PS"]), "ps")
        print("ready", servers[0].target, flush=True)
        servers[0].join()
    cluster = processes.cluster(ps=SERVERS, worker=max(WORKERS))
    ps = processes.start([sys.executable, *sys.argv], stdout=subprocess.PIPE, env=dict(os.environ, FIG7_PS=json.dumps(cluster)))
    try:
        workers = serve(cluster, "worker")
        processes.ready(ps)
        clients = []
        for count in WORKERS:
            clients += [session_of(workers[i].target, i) for i in range(len(clients), count)]
            times, rate = measure(clients)
            common.emit(a, "thalweg" if ours else "tensorflow", tf.__version__, times, row="%s_%d" % (a.workload, count),
                        per_second=rate, foreign=None)
    finally:
        processes.end([ps])
    os._exit(0)  # TensorFlow's servers cannot be stopped


main()
