# SPDX-License-Identifier: Apache-2.0
"""Steps over a cluster on loopback, one process a task and one for each client: wire.py wire_KIND_SIZE[_PxW] [--variant V]

SIZE bytes of parameters (suffix K, M, G) are spread over P parameter servers; W workers, 1x1 without a shape, each step of which
    read    fetches all parameters, which were written before, and reads every byte: the largest element of each,
    null    also sends an update of the same size back (the null step of the OSDI paper, dense or scalar),
    traced  the null step with a full trace,
    gather  fetches 32 random rows of 64 floats instead, gathered on the server,
    layers  multiplies 64 rows by all parameters, matrices of 4 MB, one after another; by calls, as between machines with TLS.
Variants: thalweg (our client, our servers), tcp (the same, with channels as between hosts), scheduled (receives wait until they are
needed), tf_client (TensorFlow's client, our servers), tf_servers (our client, TensorFlow's servers), tensorflow (both TensorFlow's); the
last three run under a Python that has TensorFlow. A client drives the worker of its number; the figures are those of client 0.
"""
import functools
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "peers"))
import common
import processes

a = common.options()
ours = a.variant not in ("tensorflow", "tf_client") and "WIRE_SERVER" not in os.environ
if ours:
    import thalweg as tf
else:
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()

kind, size, shape = (a.workload.removeprefix("wire_").split("_") + ["1x1"])[:3]
size = int(size.rstrip("KMG")) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(size[-1], 1)
servers, workers = map(int, shape.split("x"))


def start_server(cluster, job, task):
    if a.variant in ("tensorflow", "tf_servers"):
        return processes.start([sys.executable, *sys.argv], stdout=subprocess.PIPE,
                               env=dict(os.environ, WIRE_SERVER=json.dumps([cluster, job, task])))
    options = ["--channels", "tcp"] if a.variant == "tcp" else []
    if kind == "layers":
        options += ["--max-message-bytes", str(1 << 30)]  # where messages have a limit, there are no channels
    return processes.serve(cluster, job, task, *options)


def step_of(worker):
    """The variables, and the step of a worker."""
    params = []
    if kind == "layers":
        for i in range(size >> 22):
            with tf.device("/job:ps/task:%d" % (i % servers)):
                params.append(tf.get_variable("v%d" % i, [1024, 1024], initializer=tf.zeros_initializer()))
        with tf.device("/job:worker/task:%d" % worker):
            return functools.reduce(tf.matmul, params, tf.fill([64, 1024], 1.0))[:1, :1]
    for i in range(servers):
        with tf.device("/job:ps/task:%d" % i):
            n = max(1, size // servers // 4)
            params.append(tf.get_variable("v%d" % i, [n // 64, 64] if kind == "gather" else [n],  # ones: no page of them is untouched
                                          initializer=tf.ones_initializer()))
    with tf.device("/job:worker/task:%d" % worker):
        if kind == "gather":
            ids = tf.random_uniform([32 // servers], maxval=size // servers // 256, dtype=tf.int32)
            return tf.add_n([tf.nn.embedding_lookup(p, ids) for p in params]).op
        if kind in ("null", "traced"):
            return [tf.assign_add(p, -p).op for p in params]
        return [tf.reduce_max(p) for p in params]  # fetched, lest the optimizer drop what nobody reads


def drive(targets, client, children):
    """The clients but the first begin when the variables are there, and go on until they are killed."""
    step = step_of(client)
    config = tf.ConfigProto(graph_options=tf.GraphOptions(enable_recv_scheduling=a.variant == "scheduled"))
    with tf.Session(targets[client], config=config) as s:
        while client:
            s.run(step)
        s.run(tf.global_variables_initializer())
        for i in range(1, len(targets)):
            children.append(processes.start([sys.executable, *sys.argv], env=dict(os.environ, WIRE_CLIENT=json.dumps([targets, i]))))
        traced = dict(options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=tf.RunMetadata()) if kind == "traced" else {}
        t = common.measure(lambda: s.run(step, **traced), a.seconds, warm=3)
    common.emit(a, "thalweg" if ours else "tensorflow", tf.__version__, t, bytes_=32 * 256 if kind == "gather" else size, foreign=None)


def main():
    if "WIRE_SERVER" in os.environ:
        cluster, job, task = json.loads(os.environ["WIRE_SERVER"])
        server = tf.train.Server(cluster, job_name=job, task_index=task)
        print("ready", server.target, flush=True)
        server.join()
    if "WIRE_CLIENT" in os.environ:
        drive(*json.loads(os.environ["WIRE_CLIENT"]), [])
    cluster = processes.cluster(ps=servers, worker=workers)
    children = []
    try:
        for job, tasks in cluster.items():
            children += [start_server(cluster, job, task) for task in range(len(tasks))]
        for child in children:
            processes.ready(child)
        drive(["grpc://" + address for address in cluster["worker"]], 0, children)
    finally:
        processes.end(children)


main()
