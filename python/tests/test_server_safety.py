# SPDX-License-Identifier: Apache-2.0
"""Servers are safe by default: who may come, and how much he may ask for."""
import threading
import time

import pytest
import thalweg as tf
from certificates import Authority
from thalweg.cluster.local_cluster import free_ports


@pytest.fixture(name="authority", scope="module")
def the_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(name="task", scope="module")
def certificate_of_a_task(authority):
    return authority.make("task")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_cluster_with_certificates_runs_and_refuses_all_others(authority, task, tmp_path, monkeypatch):
    ports = free_ports(2)
    spec = {"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{ports[1]}"]}
    servers = [tf.train.Server(spec, job, 0, tls=task) for job in ("ps", "worker")]
    with tf.device("/job:ps"):
        v = tf.get_variable("v", [3], initializer=tf.ones_initializer())
    with tf.device("/job:worker"):
        total = tf.reduce_sum(v) * 2.0
    assert servers[1].target.startswith(f"grpcs://127.0.0.1:{ports[1]}?cert=")
    with tf.Session(servers[1].target) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(total) == 6
    for name, path in zip(("CERT", "KEY", "CA"), authority.make("client")):
        monkeypatch.setenv(f"THALWEG_TLS_{name}", str(path))
    for option in ("", "?lost-after=20"):
        with tf.Session(f"grpcs://127.0.0.1:{ports[1]}{option}") as session:
            assert session.run(total) == 6
    with pytest.raises(tf.errors.InvalidArgumentError, match="lost-after=SECONDS"):
        tf.Session(f"grpc://127.0.0.1:{ports[1]}?lost=20").run(total)
    with pytest.raises(tf.errors.UnavailableError, match="grpcs://"):
        tf.Session(f"grpc://127.0.0.1:{ports[1]}").run(total)
    stranger = [str(f) for f in Authority(tmp_path / "other").make("stranger")]
    target = f"grpcs://127.0.0.1:{ports[1]}?cert={stranger[0]}&key={stranger[1]}&ca="
    with pytest.raises(tf.errors.UnavailableError, match="--tls-ca"):
        tf.Session(target + stranger[2]).run(total)
    with pytest.raises(tf.errors.UnavailableError, match="--tls-cert"):
        tf.Session(target + str(task[2])).run(total)
    with tf.Session(servers[1].target) as session:  # nobody has harmed it
        assert session.run(total) == 6
    for server in servers:
        server.stop()


def test_a_public_address_needs_certificates(task):
    with pytest.raises(tf.errors.InvalidArgumentError, match="--tls-cert.*--insecure"):
        tf.train.Server({"a": ["0.0.0.0:0"]})
    tf.train.Server({"a": ["0.0.0.0:0"]}, tls=task).stop()
    tf.train.Server({"a": ["0.0.0.0:0"]}, insecure=True).stop()
    with pytest.raises(tf.errors.InvalidArgumentError, match="contradict"):
        tf.train.Server({"a": ["0.0.0.0:0"]}, tls=task, insecure=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="--tls-key is not given"):
        tf.train.Server({"a": ["127.0.0.1:0"]}, tls=(task[0], "", task[2]))
    with pytest.raises(tf.errors.NotFoundError, match="--tls-ca"):
        tf.train.Server({"a": ["127.0.0.1:0"]}, tls=(task[0], task[1], "/nowhere"))


def limited(**limits):
    return tf.train.Server({"local": ["127.0.0.1:0"]}, **limits)


def test_messages_and_graphs_have_limits_with_names():
    x = tf.placeholder(tf.float32, [None])
    y = x * 2.0
    server = limited(max_message_bytes=100_000)
    with tf.Session(server.target) as session:
        assert session.run(y, {x: [1.0]})[0] == 2
        with pytest.raises(tf.errors.ResourceExhaustedError, match="--max-message-bytes"):
            session.run(y, {x: [1.0] * 100_000})
        assert session.run(y, {x: [1.0]})[0] == 2
    server.stop()
    server = limited(max_graph_nodes=8)
    with tf.Session(server.target) as session:
        assert session.run(y, {x: [1.0]})[0] == 2
        for _ in range(10):
            y = y + 1.0
        with pytest.raises(tf.errors.ResourceExhaustedError, match="--max-graph-nodes"):
            session.run(y, {x: [1.0]})
    with tf.Session(server.target) as session, pytest.raises(tf.errors.ResourceExhaustedError, match="at most 8"):
        session.run(y, {x: [1.0]})
    server.stop()
    server = limited(max_graph_bytes=500)
    with tf.Session(server.target) as session, pytest.raises(tf.errors.ResourceExhaustedError, match="--max-graph-bytes"):
        session.run(y, {x: [1.0]})
    server.stop()


@pytest.mark.parametrize("channels", ["any", "tcp", "sockets", "calls"])
def test_strings_that_were_fed_count_while_a_queue_keeps_them(channels):
    server = limited(memory_limit=10 << 20, channels=channels)
    x, many = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [None])
    for fed, value in ((x, b"x" * (3 << 20)), (many, [b"y" * 3000] * 1000)):
        put, feed = tf.FIFOQueue(-1, [tf.string]).enqueue([fed]), {fed: value}
        with tf.Session(server.target) as session:
            session.run(put, feed)
            with pytest.raises(tf.errors.ResourceExhaustedError, match="strings of a tensor"):
                for _ in range(4):
                    session.run(put, feed)
        tf.Session.reset(server.target)
    server.stop()


def test_sessions_calls_and_memory_have_limits_with_names():
    one = tf.constant(1.0)
    server = limited(max_sessions=2)
    sessions = [tf.Session(server.target) for _ in range(3)]
    assert sessions[0].run(one) == 1 and sessions[1].run(one) == 1
    with pytest.raises(tf.errors.ResourceExhaustedError, match="--max-sessions"):
        sessions[2].run(one)
    sessions[0].close()
    assert sessions[2].run(one) == 1
    server.stop()

    server = limited(memory_limit=1 << 20)
    x = tf.placeholder(tf.float32, [None])
    with tf.Session(server.target) as session:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="limit"):
            session.run(tf.fill([1 << 20], 1.0))
        assert session.run(x + 1.0, {x: [1.0]})[0] == 2
    with tf.Graph().as_default():  # what reading a request takes counts as well
        last = [tf.no_op() for _ in range(20000)][-1]
        with tf.Session(server.target) as other, pytest.raises(tf.errors.ResourceExhaustedError, match="limit of 1048576 bytes of memory"):
            other.run(last)
    with tf.Session(server.target) as session:
        assert session.run(x + 1.0, {x: [1.0]})[0] == 2
    server.stop()

    server = limited(max_calls=2)
    queue = tf.FIFOQueue(1, [tf.float32])
    taken, put = queue.dequeue(), queue.enqueue([1.0])
    with tf.Session(server.target) as session:
        session.run(queue.size())
        ends = []

        def wait():
            try:
                ends.append(session.run(taken))
            except tf.errors.OpError as e:
                ends.append(e)

        waiters = [threading.Thread(target=wait) for _ in range(3)]
        for waiter in waiters:
            waiter.start()
        deadline = time.monotonic() + 60
        while not ends and time.monotonic() < deadline:  # one of the three is refused
            waiters[0].join(0.01)
        assert ends
        assert isinstance(ends[0], tf.errors.ResourceExhaustedError) and "--max-calls" in ends[0].message
        with pytest.raises(tf.errors.ResourceExhaustedError, match="--max-calls"):
            session.run(put)
        server.stop()
        for waiter in waiters:
            waiter.join(60)
        assert len(ends) == 3


def test_a_limit_below_zero_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="session_limit"):
        limited(max_sessions=-1)
    with pytest.raises(TypeError):
        limited(max_everything=1)
