# SPDX-License-Identifier: Apache-2.0
"""A ps and a worker, each a process, and steps whose tensors go from one to the other and back."""
import contextlib
import subprocess

import numpy as np
import serving
import thalweg as tf
from thalweg.local_cluster import free_ports

FLOATS = 1 << 20


class TwoTasks:
    """`options` of `thalweg serve`; `before`: runs in each process before it serves."""

    def __init__(self, *options, before=None):
        self.spec = {job: [f"127.0.0.1:{port}"] for job, port in zip(("ps", "worker"), free_ports(2))}
        self.options, self.before, self.processes = options, before, {}
        for job in self.spec:
            self.start(job)
        self.target = "grpc://" + self.spec["worker"][0]

    def start(self, job):
        self.processes[job] = serving.serve(self.spec, job, 0, "--threads", "1", *self.options, stderr=subprocess.PIPE, preexec_fn=self.before)
        serving.ready(self.processes[job])

    def kill(self, job):
        """What it has written to stderr."""
        server = self.processes.pop(job)
        server.kill()
        return server.communicate(timeout=60)[1]

    def close(self):
        return [self.kill(job) for job in list(self.processes)]


@contextlib.contextmanager
def two_tasks(*options, before=None):
    tasks = TwoTasks(*options, before=before)
    try:
        yield tasks
    finally:
        tasks.close()


def build():
    """A variable of the ps, and a step of the worker that reads it and sends as much back."""
    with tf.device("/job:ps"):
        v = tf.get_variable("v", [FLOATS], initializer=tf.ones_initializer())
    with tf.device("/job:worker"):
        twice = v + v
        with tf.device("/job:ps"):
            return v, tf.assign_add(v, twice)


def check_steps(target, steps=5):
    with tf.Graph().as_default() as graph:
        v, update = build()
        with tf.Session(target, graph=graph) as s:
            s.run(v.initializer)
            kept = s.run(v)  # stays as it was fetched, whatever happens to the variable
            for i in range(1, steps + 1):
                np.testing.assert_array_equal(s.run(update), np.full(FLOATS, 3.0**i, np.float32))
            np.testing.assert_array_equal(kept, np.ones(FLOATS, np.float32))
