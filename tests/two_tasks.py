# SPDX-License-Identifier: Apache-2.0
"""A ps and a worker, each a process, and steps whose tensors go from one to the other and back."""
import contextlib
import os
import subprocess

import numpy as np
import pytest
import serving
import thalweg as tf
from thalweg.cluster.local_cluster import free_ports

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


def connections(cluster, job):
    """Of TCP, of the process, that do not belong to gRPC's ports."""
    pid, sockets = cluster.processes[job].pid, set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # one that the process has closed meanwhile
            link = os.readlink(f"/proc/{pid}/fd/{fd}")
            if link.startswith("socket:["):
                sockets.add(link[8:-1])
    with open(f"/proc/{pid}/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    established = [row for row in rows if row[3] == "01" and row[9] in sockets]
    ports = {int(addresses[0].split(":")[1]) for addresses in cluster.spec.values()}
    return sum(not ports & {int(end.split(":")[1], 16) for end in row[1:3]} for row in established)


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


def check_a_killed_ps_is_noticed(cluster):
    """By the step that needs it; steps go on when it is there again."""
    with tf.Graph().as_default() as graph:
        v, update = build()
        with tf.Session(cluster.target, graph=graph) as s:
            s.run(v.initializer)
            s.run(update)
            cluster.kill("ps")
            with pytest.raises(tf.errors.UnavailableError, match="/job:ps"):
                s.run(update)
    cluster.start("ps")
    check_steps(cluster.target)
