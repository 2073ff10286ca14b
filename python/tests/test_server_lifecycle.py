# SPDX-License-Identifier: Apache-2.0
"""Servers begin and end, a thousand times: nothing of them stays."""
import gc
import os
import threading

import pytest
import thalweg as tf


def held():
    """Threads, descriptors and resident megabytes of this process."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as f:
        pages = int(f.read().split()[1])
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def cycle(graph=None):
    server = tf.train.Server.create_local_server()
    if graph is not None:
        with tf.Session(server.target, graph=graph[0]) as session:
            assert session.run(graph[1]) == 3
    server.stop()
    server.join()


@pytest.mark.parametrize("with_session, cycles", [(False, 1000), (True, 100)])
def test_start_and_stop_leak_nothing(with_session, cycles):
    with tf.Graph().as_default() as made:
        value = tf.constant(1.0) + 2.0
    graph = (made, value) if with_session else None
    for _ in range(cycles // 20):  # pools of gRPC and of the allocator fill
        cycle(graph)
    threads, files, megabytes = held()
    for _ in range(cycles):
        cycle(graph)
    after = held()
    assert after[0] <= threads + 2 and after[1] <= files + 2, (threads, files, after)
    assert after[2] <= megabytes + 8, (megabytes, after)


def test_a_hundred_servers_in_a_process():
    before = held()
    servers = [tf.train.Server.create_local_server() for _ in range(100)]
    with tf.Graph().as_default():
        value = tf.constant(2.0) * 3.0
        for server in servers:
            with tf.Session(server.target) as session:
                assert session.run(value) == 6
    assert len({server.target for server in servers}) == 100
    for server in servers:
        server.stop()
    servers.clear()
    assert held()[0] <= before[0] + 16


def test_join_returns_when_another_thread_stops_it():
    server = tf.train.Server.create_local_server()
    waiters = [threading.Thread(target=server.join) for _ in range(3)]
    for waiter in waiters:
        waiter.start()
    server.stop()
    server.stop()  # and again: nothing
    for waiter in waiters:
        waiter.join(60)
    assert not any(waiter.is_alive() for waiter in waiters)
    with tf.Graph().as_default(), pytest.raises(tf.errors.UnavailableError):
        tf.Session(server.target).run(tf.constant(1.0))
