# SPDX-License-Identifier: Apache-2.0
"""Tasks of one host exchange tensors through shared memory, and through sockets where there is none."""
import os
import resource

import numpy as np
import pytest
import serving
import thalweg as tf
from two_tasks import FLOATS, build, check_steps, two_tasks


def no_shared_memory():
    """The limit for files holds for memory that processes share, too."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def shared_bytes(cluster, job):
    """What the process has mapped of tensors, its own and others'."""
    total = 0
    with open(f"/proc/{cluster.processes[job].pid}/maps") as maps:
        for line in maps:
            if "memfd:thalweg" in line:
                begin, end = (int(n, 16) for n in line.split()[0].split("-"))
                total += end - begin
    return total


def open_files(cluster, job):
    return len(os.listdir(f"/proc/{cluster.processes[job].pid}/fd"))


@pytest.fixture(name="cluster")
def two_processes():
    with two_tasks() as cluster:
        yield cluster


def test_tensors_of_a_host_lie_in_shared_memory(cluster):
    check_steps(cluster.target)
    assert shared_bytes(cluster, "ps") >= 4 * FLOATS and shared_bytes(cluster, "worker") >= 4 * FLOATS


def test_without_shared_memory_sockets_do():
    with two_tasks(before=no_shared_memory) as cluster:
        check_steps(cluster.target)
        assert shared_bytes(cluster, "ps") == shared_bytes(cluster, "worker") == 0
        said = cluster.kill("ps")
        assert said.count("through sockets") == 1, said


def test_a_killed_task_leaves_nothing_behind(cluster):
    files = sorted(os.listdir("/dev/shm"))
    with tf.Graph().as_default() as graph:
        v, update = build()
        with tf.Session(cluster.target, graph=graph) as s:
            s.run(v.initializer)
            s.run(update)
            before = shared_bytes(cluster, "worker")
            cluster.kill("ps")
            with pytest.raises(tf.errors.OpError):
                s.run(update)
    cluster.start("ps")
    check_steps(cluster.target)
    assert shared_bytes(cluster, "worker") <= before  # what the dead one had lent has gone
    assert sorted(os.listdir("/dev/shm")) == files


@pytest.mark.parametrize("narrow", [False, True])
def test_floats_cross_in_sixteen_bits_where_asked_for(cluster, narrow):
    """A5.5, through channels: rounded to nearest, ties to even; what stays in its task is not."""
    sent = np.repeat(np.float32([1 + 2**-8, 1 + 3 * 2**-8, 3e38, -(2.0**-130)]), 5000)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32)
        with tf.device("/job:ps"):
            here = tf.negative(x)
        with tf.device("/job:worker"):
            there = tf.negative(here)
        config = tf.ConfigProto(graph_options=tf.GraphOptions(enable_bfloat16_sendrecv=narrow))
        with tf.Session(cluster.target, graph=graph, config=config) as s:
            stayed, crossed = s.run([here, there], {x: sent})
    np.testing.assert_array_equal(stayed, -sent)
    assert not narrow or list(crossed[[0, 5000]]) == [1, 1 + 2**-6]
    np.testing.assert_allclose(crossed, sent, rtol=2**-8 if narrow else 0)


def test_sessions_leave_nothing_behind(cluster):
    """What 200 sessions had is gone with them, in the tasks and in the client."""
    def used():
        return [n for job in cluster.processes for n in (shared_bytes(cluster, job) >> 20, open_files(cluster, job))] + [
            len(os.listdir("/proc/self/fd"))]

    for i in range(200):
        with tf.Graph().as_default() as graph:
            v, update = build()
            with tf.Session(cluster.target, graph=graph) as s:
                s.run([v.initializer] if i == 0 else update.op)
        if i == 9:
            after_ten = used()
    # The tasks hear of the last ends by and by.
    assert serving.wait_for(lambda: all(b <= a + 5 for a, b in zip(after_ten, used()))), (after_ten, used())
