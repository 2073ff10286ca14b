# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a cluster or a graph for it is an error that says so within the deadline; the server and its other sessions
live on."""
import contextlib
import socket
import threading

import pytest
import thalweg as tf
from thalweg.cluster.local_cluster import free_ports


@pytest.fixture(name="cluster")
def ps_and_worker():
    ports = free_ports(2)
    spec = {"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{ports[1]}"]}
    servers = {job: tf.train.Server(spec, job, 0) for job in spec}
    yield servers
    for server in servers.values():
        server.stop()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


@contextlib.contextmanager
def refused(server, error, match):
    """Another session of the server works before and after what is refused."""
    with tf.Graph().as_default() as other:
        x = tf.placeholder(tf.float32)
        y = x * 2.0
    with tf.Session(server.target, graph=other) as session:
        assert session.run(y, {x: 1.0}) == 2
        with pytest.raises(error, match=match):
            yield
        assert session.run(y, {x: 3.0}) == 6


def config(milliseconds=2000, **fields):
    return tf.ConfigProto(operation_timeout_in_ms=milliseconds, **fields)


def test_a_server_must_be_a_task_of_its_cluster():
    with pytest.raises(tf.errors.NotFoundError, match="no task chief:0; it has ps: 0; worker: 0, 1"):
        tf.train.Server({"ps": ["127.0.0.1:0"], "worker": {0: "127.0.0.1:0", 1: "127.0.0.1:0"}}, "chief", 0)
    with pytest.raises(tf.errors.NotFoundError, match="no task worker:7"):
        tf.train.Server({"worker": ["127.0.0.1:0"]}, "worker", 7)


def test_tasks_have_addresses_of_their_own():
    with pytest.raises(tf.errors.InvalidArgumentError, match="tasks ps:0 and worker:0 have one address, 127.0.0.1:7777"):
        tf.train.Server({"ps": ["127.0.0.1:7777"], "worker": ["127.0.0.1:7777"]}, "ps", 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is no address"):
        tf.train.Server({"ps": ["127.0.0.1"]}, "ps", 0)


def test_an_unknown_task_in_a_graph_is_named_with_those_there_are(cluster):
    with refused(cluster["worker"], tf.errors.InvalidArgumentError, "(?s)/job:ps/task:7.*/job:worker/replica:0/task:0"):
        with tf.device("/job:ps/task:7"):
            x = tf.constant(1.0) + tf.constant(2.0)
        with tf.Session(cluster["worker"].target) as session:
            session.run(x)


def test_an_unknown_job_in_a_graph_is_named(cluster):
    with refused(cluster["worker"], tf.errors.InvalidArgumentError, "/job:chief"):
        with tf.device("/job:chief"):
            v = tf.Variable(1.0, name="of_chief")
        with tf.Session(cluster["worker"].target) as session:
            session.run(v.initializer)


def test_colocation_that_cannot_be_is_told_with_both_places(cluster):
    with tf.Graph().as_default() as one:
        with tf.device("/job:ps"):
            v = tf.Variable(1.0, name="v", use_resource=False)
        assign = v.assign(2.0)
    torn = one.as_graph_def()
    for node in torn.node:
        if node.name == assign.op.name:  # it writes the variable, so it must be where that is
            node.device = "/job:worker"
    with refused(cluster["worker"], tf.errors.InvalidArgumentError, "'v' asks for '/job:ps'.*'/job:worker'.*must be on one device"):
        tf.import_graph_def(torn, name="")
        with tf.Session(cluster["worker"].target) as session:
            session.run(assign.name)


def test_feeds_of_the_wrong_kind_are_refused(cluster):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = x + 1.0
    with tf.Session(cluster["worker"].target) as session:
        with refused(cluster["worker"], (tf.errors.InvalidArgumentError, ValueError), "shape"):
            session.run(y, {x: [1.0, 2.0, 3.0]})
        with refused(cluster["worker"], (tf.errors.InvalidArgumentError, TypeError, ValueError), "text"):
            session.run(y, {x: ["a", "b"]})
        assert session.run(y, {x: [1.0, 2.0]}).tolist() == [2, 3]


def test_an_address_where_nobody_listens_is_named():
    port, nobody = free_ports(2)
    server = tf.train.Server({"worker": [f"127.0.0.1:{port}"], "ps": [f"127.0.0.1:{nobody}"]}, "worker", 0)
    with pytest.raises(tf.errors.OpError, match=f"(?s)/job:ps/replica:0/task:0 at 127.0.0.1:{nobody}.*refused") as caught:
        tf.Session(server.target, config=config()).run(tf.constant(1.0))
    assert caught.value.error_code in (tf.errors.UNAVAILABLE, tf.errors.DEADLINE_EXCEEDED)
    with tf.Session(server.target, config=config(5000, device_filters=["/job:worker"])) as session:
        assert session.run(tf.constant(1.0)) == 1
    server.stop()


class Babbler:
    """Listens, and answers whatever comes with bytes that are no protocol."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._talk, daemon=True)
        self._thread.start()

    def _talk(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5)
                connection.recv(100)
                connection.sendall(b"\xff\x00 what do you mean? " * 100)

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)


def test_a_peer_that_speaks_garbage_is_named_and_harms_nobody():
    babbler = Babbler()
    port = free_ports(1)[0]
    server = tf.train.Server({"worker": [f"127.0.0.1:{port}"], "ps": [babbler.address]}, "worker", 0)
    with pytest.raises(tf.errors.OpError, match=f"(?s)/job:ps/replica:0/task:0 at {babbler.address}"):
        tf.Session(server.target, config=config()).run(tf.constant(1.0))
    with tf.Session(server.target, config=config(5000, device_filters=["/job:worker"])) as session:
        assert session.run(tf.constant(1.0)) == 1
    with pytest.raises(tf.errors.OpError):
        tf.Session("grpc://" + babbler.address, config=config()).run(tf.constant(1.0))
    server.stop()
    babbler.close()


def test_a_client_that_speaks_garbage_harms_nobody(cluster):
    port = int(cluster["worker"].target.rsplit(":", 1)[1])
    x = tf.constant(1.0)
    with tf.Session(cluster["worker"].target) as session:
        assert session.run(x) == 1
        for junk in (b"\x00" * 1000, b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 500, b""):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(junk)
        assert session.run(x) == 1
