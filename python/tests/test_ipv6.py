# SPDX-License-Identifier: Apache-2.0
"""Servers at IPv6 addresses: what they say where they are, and clients, tasks and channels that come there."""
import socket

import numpy as np
import pytest
import thalweg as tf
from thalweg.cluster.local_cluster import free_ports


@pytest.fixture(name="tasks")
def two_tasks():
    try:
        with socket.socket(socket.AF_INET6) as there:
            there.bind(("::1", 0))
    except OSError as e:
        pytest.skip(f"this host has no IPv6: {e}")
    spec = {"worker": [f"[::1]:{port}" for port in free_ports(2)]}
    servers = [tf.train.Server(spec, "worker", i) for i in range(2)]
    yield spec["worker"], servers
    for s in servers:
        s.stop()


def test_a_cluster(tasks):
    addresses, servers = tasks
    assert [s.target for s in servers] == [f"grpc://{a}" for a in addresses]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [1000])
        with tf.device("/job:worker/task:1"):
            v = tf.Variable(tf.zeros([1000]))
            there = v.assign_add(x)
        with tf.device("/job:worker/task:0"):
            here = tf.reduce_sum(there)
        for s in servers:
            with tf.Session(s.target) as session:
                session.run(v.initializer)
                assert session.run(here, {x: np.ones(1000)}) == 1000
                assert session.make_callable(here, [x])(np.ones(1000)) == 2000


def test_a_session_brings_its_cluster(tasks):
    addresses, servers = tasks
    def_ = tf.train.ClusterSpec({"own": addresses}).as_cluster_def()
    with tf.Graph().as_default(), tf.Session(servers[0].target, config=tf.ConfigProto(cluster_def=def_)) as session:
        with tf.device("/job:own/task:1"):
            assert session.run(tf.constant(1.0) + 1.0) == 2


def test_an_address_without_brackets(tasks):
    bare = tasks[0][0].replace("[", "").replace("]", "")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[::1\]:2222"):
        tf.train.Server({"worker": [bare]}, "worker", 0)
