# SPDX-License-Identifier: Apache-2.0
"""Tasks that have no shared memory and no unix sockets in common exchange tensors over TCP: here, because they are told to."""
import os
import subprocess

import numpy as np
import pytest
import serving
import thalweg as tf
from thalweg.local_cluster import free_ports

FLOATS = 1 << 20


class Cluster:
    """A ps and a worker, each a process."""

    def __init__(self, *options):
        ports = free_ports(2)
        self.spec = {job: [f"127.0.0.1:{port}"] for job, port in zip(("ps", "worker"), ports)}
        self.ports, self.options, self.processes = set(ports), options, {}
        for job in self.spec:
            self.start(job)
        self.target = "grpc://" + self.spec["worker"][0]

    def start(self, job):
        options = ["--threads", "1", *(["--channels", "tcp"] if not self.options else self.options)]
        self.processes[job] = serving.serve(self.spec, job, 0, *options, stderr=subprocess.PIPE)
        serving.ready(self.processes[job])

    def kill(self, job):
        """What it has written to stderr."""
        server = self.processes.pop(job)
        server.kill()
        return server.communicate(timeout=60)[1]

    def close(self):
        return [self.kill(job) for job in list(self.processes)]

    def connections(self, job):
        """Of TCP, of the process, that do not belong to gRPC's ports."""
        pid, sockets = self.processes[job].pid, set()
        for fd in os.listdir(f"/proc/{pid}/fd"):
            link = os.readlink(f"/proc/{pid}/fd/{fd}")
            if link.startswith("socket:["):
                sockets.add(link[8:-1])
        with open(f"/proc/{pid}/net/tcp") as table:
            rows = [line.split() for line in table][1:]
        established = [row for row in rows if row[3] == "01" and row[9] in sockets]
        return sum(not self.ports & {int(end.split(":")[1], 16) for end in row[1:3]} for row in established)


@pytest.fixture(name="cluster")
def two_processes():
    cluster = Cluster()
    try:
        yield cluster
    finally:
        cluster.close()


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
            for i in range(1, steps + 1):
                np.testing.assert_array_equal(s.run(update), np.full(FLOATS, 3.0**i, np.float32))


def test_tensors_go_through_two_connections_of_their_own(cluster):
    check_steps(cluster.target)
    check_steps(cluster.target)  # another session takes the same ones
    assert cluster.connections("ps") == cluster.connections("worker") == 2
    assert cluster.close() == ["", ""]


def test_a_killed_task_is_noticed_and_its_successor_connected(cluster):
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
    assert cluster.connections("ps") == cluster.connections("worker") == 2


def test_by_calls_there_are_no_connections():
    cluster = Cluster("--channels", "calls")
    try:
        check_steps(cluster.target)
        assert cluster.connections("ps") == cluster.connections("worker") == 0
    finally:
        cluster.close()


def test_who_can_and_who_must_not_go_by_calls():
    """Not an error: a task that is told to use TCP speaks to one that is told not to."""
    cluster = Cluster("--channels", "memory")
    try:
        cluster.kill("ps")
        cluster.options = ("--channels", "tcp")
        cluster.start("ps")
        check_steps(cluster.target)
        assert cluster.connections("ps") == cluster.connections("worker") == 0
    finally:
        cluster.close()


def test_a_kind_of_channel_contradicts_certificates_and_limits_of_messages(tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match="'pigeons'"):
        tf.train.Server({"a": ["127.0.0.1:0"]}, channels="pigeons")
    with pytest.raises(tf.errors.InvalidArgumentError, match="--max-message-bytes"):
        tf.train.Server({"a": ["127.0.0.1:0"]}, channels="tcp", max_message_bytes=1 << 20)
    files = [tmp_path / name for name in ("cert", "key", "ca")]
    for file in files:
        file.write_text("none")
    with pytest.raises(tf.errors.InvalidArgumentError, match="not encrypted"):
        tf.train.Server({"a": ["127.0.0.1:0"]}, channels="tcp", tls=files)
