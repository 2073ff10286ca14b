# SPDX-License-Identifier: Apache-2.0
"""Servers and their sessions: the same programs as in this process, over the wire."""
import re
import socket
import sys
import threading

import numpy as np
import pytest
import thalweg as tf
from thalweg.cluster.local_cluster import free_ports


@pytest.fixture(name="server")
def local_server():
    server = tf.train.Server.create_local_server()
    yield server
    server.stop()


@pytest.fixture(name="cluster")
def three_servers():
    ports = free_ports(3)
    spec = tf.train.ClusterSpec({"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{p}" for p in ports[1:]]})
    servers = [tf.train.Server(spec, job, task) for job, task in (("worker", 0), ("ps", 0), ("worker", 1))]
    yield servers
    for s in servers:
        s.stop()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_cluster_is_described_as_in_version_1():
    spec = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": {1: "c:3"}})
    assert spec.as_dict() == {"ps": ["a:1", "b:2"], "worker": {1: "c:3"}}
    assert sorted(spec.jobs) == ["ps", "worker"]
    assert spec.num_tasks("ps") == 2 and spec.task_indices("worker") == [1]
    assert spec.task_address("ps", 1) == "b:2" and spec.job_tasks("worker") == [None, "c:3"]
    assert tf.train.ClusterSpec(spec.as_cluster_def()) == spec == tf.train.ClusterSpec(spec)
    assert spec and not tf.train.ClusterSpec({})
    with pytest.raises(ValueError):
        spec.job_tasks("chief")
    with pytest.raises(ValueError):
        spec.task_address("ps", 7)
    with pytest.raises(TypeError):
        tf.train.ClusterSpec(["a:1"])
    with pytest.raises(TypeError):
        tf.train.ClusterSpec({"ps": [1]})


def test_a_session_of_a_server_trains(server):
    assert server.target.startswith("grpc://")
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(100):
            _, value = session.run([train, loss], {x: np.eye(3)})
        assert value < 1e-3
        assert [d.device_type for d in session.list_devices()] == ["CPU"]
        later = loss + 1.0  # the graph grows
        assert abs(session.run(later, {x: np.eye(3)}) - 1) < 1e-3
        assert abs(session.make_callable(later, [x])(np.eye(3)) - 1) < 1e-3
        handle = session.partial_run_setup([loss, later], [x])
        assert session.partial_run(handle, loss, {x: np.eye(3)}) < 1e-3
        assert abs(session.partial_run(handle, later) - 1) < 1e-3
    with tf.Session(server.target) as session:
        np.testing.assert_allclose(session.run(w), np.ones((3, 1)), atol=0.1)
    tf.Session.reset(server.target)
    with tf.Session(server.target) as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(w)


def test_errors_come_over_the_wire(server):
    x = tf.placeholder(tf.float32, [2])
    with tf.Session(server.target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="feed"):
            session.run(x + 1.0)
        queue = tf.FIFOQueue(1, [tf.int32])
        taken = queue.dequeue()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(taken, options=tf.RunOptions(timeout_in_ms=500))
        session.run(queue.close())
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(taken)
    with pytest.raises(tf.errors.UnavailableError):
        tf.Session(f"grpc://127.0.0.1:{free_ports(1)[0]}").run(x, {x: [1, 2]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="grpc://"):
        tf.Session("local")


def test_a_graph_spans_a_cluster(cluster):
    with tf.device("/job:ps"):
        v = tf.get_variable("v", [3, 2], initializer=tf.ones_initializer())
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [None, 3])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, v) - 1.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    def body(i, total):
        with tf.device("/job:worker/task:1"):
            added = total + tf.cast(i, tf.float32)
        with tf.device("/job:ps"):
            return i + 1, added * 1.0

    loop = tf.while_loop(lambda i, total: i < 10, body, [0, 0.0])
    with tf.Session(cluster[0].target) as session:
        assert len(session.list_devices()) == 3
        session.run(tf.global_variables_initializer())
        for _ in range(50):
            _, value = session.run([train, loss], {x: np.ones([2, 3])})
        assert value < 1e-9
        assert tuple(session.run(loop)) == (10, 45.0)
    with tf.Session(cluster[2].target) as session:  # any task may be the master
        np.testing.assert_allclose(session.run(loss, {x: np.ones([2, 3])}), 0, atol=1e-9)


@pytest.mark.parametrize("word", [None, "+place_by_cost"])
def test_a_cluster_says_where_nodes_are_and_why(cluster, word):
    with tf.device("/job:ps"):
        v = tf.placeholder_with_default(np.ones([4, 2], np.float32), [4, 2], name="v")
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [8, 4], name="x")
    y = tf.matmul(x, v, name="y")
    config = tf.ConfigProto()
    if word is not None:
        config.graph_options.rewrite_options.optimizers.append(word)
    with tf.Session(cluster[0].target, config=config) as session:
        session.run(y, {x: np.ones([8, 4])})
        assert session.explain_placement("x").startswith("Placeholder 'x' (created at ")
        assert "-> /job:worker/replica:0/task:1/device:CPU:0\n" in session.explain_placement("x")
        why = session.explain_placement("y")
        assert "\n  CPU has kernel for it\n" in why
        costs = [line for line in why.splitlines() if "the node itself" in line]
        if word is None:
            assert "-> /job:worker/replica:0/task:0/device:CPU:0\n" in why and not costs
        else:  # the master's own placement, over the devices of all tasks
            assert len(costs) == 3 and sum("(chosen)" in line for line in costs) == 1
        with pytest.raises(tf.errors.NotFoundError, match="no node named 'z'"):
            session.explain_placement("z")
        tf.identity(y, name="z")  # the server hears of it
        assert re.search(r"'z' .*-> /job:worker/replica:0/task:0", session.explain_placement("z"))


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("use_resource", [False, True])
def test_lookups_gather_where_the_table_is(cluster, parts, use_resource):
    """Rows go from the parameter server to the worker, not the table."""
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps/task:0"):
            tables = [tf.get_variable(f"table{i}", initializer=np.arange(80, dtype=np.float32).reshape(10, 8) + 80 * i,
                                      use_resource=use_resource) for i in range(parts)]
        with tf.device("/job:worker/task:0"):
            rows = tf.nn.embedding_lookup(tables if parts > 1 else tables[0], tf.constant([0, 3, 5])) * 1
        gathers = [op for op in graph.get_operations() if op.type in ("GatherV2", "ResourceGather")]
        assert [op.device for op in gathers] == ["/job:ps/task:0"] * parts
        assert rows.device == "/job:worker/task:0"
        with tf.Session(cluster[0].target, graph=graph) as s:
            s.run(tf.global_variables_initializer())
            found = s.run(rows)
    whole = np.concatenate([np.arange(80, dtype=np.float32).reshape(10, 8) + 80 * i for i in range(parts)])
    at = [(i % parts) * 10 + i // parts for i in (0, 3, 5)]
    np.testing.assert_array_equal(found, whole[at])


def test_parameter_servers_serve_workers_side_by_side(cluster):
    """Between-graph replication: each worker has a graph and a session of its own, the variables are one."""
    errors = []
    is_ready = threading.Event()  # a worker that comes before the chief looks again after 30 seconds

    def worker(task):
        try:
            assert task == 0 or is_ready.wait(60)
            with tf.Graph().as_default():
                with tf.device(tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(
                        cluster[0].server_def.cluster), worker_device=f"/job:worker/task:{task}")):
                    step = tf.train.get_or_create_global_step()
                    w = tf.get_variable("w", [4], initializer=tf.zeros_initializer())
                    train = tf.train.GradientDescentOptimizer(0.05, use_locking=True).minimize(
                        tf.reduce_sum(tf.square(w - 1.0)), global_step=step)
                target = cluster[0 if task == 0 else 2].target
                with tf.train.MonitoredTrainingSession(master=target, is_chief=task == 0,
                                                       hooks=[tf.train.StopAtStepHook(last_step=120)]) as session:
                    is_ready.set()
                    while not session.should_stop():
                        session.run(train)
        except Exception as e:  # the thread's end is seen below
            errors.append(e)

    threads = [threading.Thread(target=worker, args=(task,)) for task in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors and not any(thread.is_alive() for thread in threads)
    with tf.Session(cluster[0].target) as session:
        with tf.device("/job:ps"):
            w = tf.get_variable("w", [4])
            step = tf.train.get_or_create_global_step()
        assert session.run(step) >= 120
        np.testing.assert_allclose(session.run(w), np.ones(4), atol=1e-3)


def test_a_server_that_is_stopped_frees_its_port():
    port = free_ports(1)[0]
    for _ in range(20):
        server = tf.train.Server({"a": [f"127.0.0.1:{port}"]})
        server.stop()
        server.join()
    with pytest.raises(tf.errors.InvalidArgumentError, match="insecure"):
        tf.train.Server({"a": ["0.0.0.0:0"]})
    with pytest.raises(ValueError):
        tf.train.Server({"a": ["h:1"], "b": ["h:2"]})


def containers_of(graph_def):
    return {n.name: n.attr["container"].s.decode() for n in graph_def.node if "container" in n.attr}


def test_a_container_is_that_of_what_is_made_in_it(graph):
    with tf.container("a"):
        tf.Variable(1.0, name="v")
        tf.get_variable("r", [], use_resource=True)
        tf.FIFOQueue(3, tf.float32, name="q")
        with graph.container("b"):
            tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], name="h")
            tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], container="own", name="o")
        with tf.Graph().as_default():
            tf.Variable(1.0)
        tf.placeholder(tf.float32, name="x")
        imported = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], name="i")
    tf.Variable(1.0, name="outside")
    found = containers_of(graph.as_graph_def())
    assert found == {"v": "a", "r": "a", "q": "a", "h": "b", "o": "own", "i": "a", "outside": ""}
    with pytest.raises(TypeError, match="container_name must be a string"):
        with tf.container(3):
            pass
    plain = tf.Graph().as_graph_def()
    plain.node.extend([n for n in graph.as_graph_def().node if n.name == "outside"])
    with tf.Graph().as_default() as other, tf.container("c"):
        tf.import_graph_def(plain, name="")
    assert containers_of(other.as_graph_def()) == {"outside": "c"}
    assert imported.op.name == "i"


def test_slots_of_an_optimizer_are_of_its_container(graph):
    v = tf.Variable(1.0, name="v")
    with tf.container("a"):
        tf.train.AdamOptimizer(0.1).minimize(v * v)
    found = containers_of(graph.as_graph_def())
    assert found["v"] == "" and {found[n] for n in ("v/Adam", "v/Adam_1", "beta1_power")} == {"a"}


def test_reset_clears_the_named_containers_alone(server):
    made = {}
    for name in ("a", "b", ""):
        with tf.container(name):
            made[name] = tf.get_variable("v" + name, [], initializer=tf.constant_initializer(1.0), use_resource=name != "b")
    names = tf.report_uninitialized_variables(list(made.values()))
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
    tf.Session.reset(server.target, ["a"])
    with tf.Session(server.target) as session:
        assert session.run(names).tolist() == [b"va"]
    tf.Session.reset(server.target, ["b", "nobody's"])
    with tf.Session(server.target) as session:
        assert session.run(names).tolist() == [b"va", b"vb"]
    tf.Session.reset(server.target)
    with tf.Session(server.target) as session:
        assert session.run(names).tolist() == [b"va", b"vb", b"v"]


def test_the_configuration_of_a_reset_is_read_by_the_core():
    with socket.create_server(("localhost", 0)) as silent:
        target = f"grpc://localhost:{silent.getsockname()[1]}"
        with pytest.raises(tf.errors.DeadlineExceededError):
            tf.Session.reset(target, config=tf.ConfigProto(operation_timeout_in_ms=50))
        with pytest.raises(tf.errors.InvalidArgumentError, match="intra_op_parallelism_threads"):
            tf.Session.reset(target, config=tf.ConfigProto(intra_op_parallelism_threads=-1))
        for wrong in (tf.GraphDef(), {"operation_timeout_in_ms": 50}):
            with pytest.raises(TypeError, match="config must be a tf.ConfigProto"):
                tf.Session.reset(target, config=wrong)


def this_line():
    return f"{__file__.rsplit('/', 1)[-1]}:{sys._getframe(1).f_lineno}"


def test_errors_of_a_server_name_the_users_line(server, cluster):
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.check_numerics(x, "not a number", name="y"); line = this_line()  # noqa: E702
    for target in (server.target, cluster[0].target):
        with tf.Session(target) as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"created at .*{line}"):
                session.run(y, {x: [float("nan")]})
            z = tf.strings.to_number(tf.strings.as_string(x) + "?", name="z"); later = this_line()  # noqa: E702
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"created at .*{later}"):  # the graph has grown
                session.run(z, {x: [1.0]})
    with tf.device("/job:worker/task:1"):
        w = tf.check_numerics(x, "not a number", name="w"); far = this_line()  # noqa: E702
    with tf.Session(cluster[0].target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"created at .*{far}"):
            session.run(w, {x: [float("nan")]})
