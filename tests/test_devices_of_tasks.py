# SPDX-License-Identifier: Apache-2.0
"""A master places nodes on devices of other tasks, whatever their kind: here the fake device, whose memory no host can address, of a
task whose master has none (papers A3.3)."""
import re

import pytest
import thalweg as tf
from thalweg.cluster.local_cluster import free_ports

THERE = "/job:worker/task:1/device:FAKE:0"
FULL = "/job:worker/replica:0/task:1/device:FAKE:0"


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture(name="cluster")
def cluster_with_a_device(monkeypatch, tmp_path):
    """The targets of worker:0 and worker:1; only the latter has a fake device, which is lost once the file `gone` is there."""
    ports = free_ports(2)
    spec = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    monkeypatch.delenv("THALWEG_DEVICE_COUNT", raising=False)
    servers = [tf.train.Server(spec, "worker", 0)]
    monkeypatch.setenv("THALWEG_DEVICE_COUNT", "FAKE=1")
    monkeypatch.setenv("THALWEG_FAKE_DEVICE_GONE", str(tmp_path / "gone"))
    servers.append(tf.train.Server(spec, "worker", 1))
    monkeypatch.delenv("THALWEG_DEVICE_COUNT")
    yield [server.target for server in servers]
    for server in servers:
        server.stop()


def where(session, node):
    return next(line.split()[-1] for line in session.explain_placement(node).splitlines() if node.name in line and "device:" in line)


def test_the_master_lists_them(cluster):
    with tf.Session(cluster[0]) as session:
        assert [d.name for d in session.list_devices()] == [
            "/job:worker/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0", FULL]


def test_what_they_compute_is_measured_there(cluster):
    """Where nodes are placed by cost, the task measures its device for the master that asks."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.optimizers.append("+place_by_cost")
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    y = tf.matmul(x, x, name="y")
    for _ in range(10):  # until a machine that is busy has had the time for it
        with tf.Session(cluster[0], config=config) as session:
            session.run(y, {x: [[1, 2], [3, 4]]})
            text = session.explain_placement(y.op.name)
        if re.search(rf"^ *{FULL}: [^;\n]*, a node [^;\n]* \(measured\)", text, re.MULTILINE):
            return
    pytest.fail(text)


def test_nodes_run_there_and_values_cross(cluster):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    with tf.device(THERE):
        y = tf.matmul(x, x, name="y")
    with tf.device("/job:worker/task:0"):
        z = tf.reduce_sum(y) + 1.0
    with tf.device(THERE):
        w = z * tf.reduce_max(y)
    with tf.Session(cluster[0], config=tf.ConfigProto(allow_soft_placement=False)) as session:
        assert session.run([y, z, w], {x: [[1, 2], [3, 4]]})[1:] == [55.0, 55.0 * 22.0]
        assert session.run(y, {x: [[1, 0], [0, 1]]}).tolist() == [[1, 0], [0, 1]]
        metadata = tf.RunMetadata()
        session.run(w, {x: [[1, 2], [3, 4]]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    ran = {n.node_name: d.device for d in metadata.step_stats.dev_stats for n in d.node_stats}
    assert ran["y"] == FULL


def test_values_between_devices_of_the_task_that_leads_stay_in_their_memory(cluster, monkeypatch):
    """Where another task leads, they go by the host: it sends each device's part by itself."""
    (port,) = free_ports(1)
    spec = {"worker": [target.split("//")[1] for target in cluster[:1]], "pair": [f"127.0.0.1:{port}"]}
    monkeypatch.setenv("THALWEG_DEVICE_COUNT", "FAKE=2")
    pair = tf.train.Server(spec, "pair", 0)
    monkeypatch.delenv("THALWEG_DEVICE_COUNT")
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    with tf.device("/job:pair/task:0/device:FAKE:0"):
        y = tf.matmul(x, x, name="y")
    with tf.device("/job:pair/task:0/device:FAKE:1"):
        z = tf.square(y, name="z")
    own_cluster = tf.ConfigProto(cluster_def=tf.train.ClusterSpec(spec).as_cluster_def())
    ran = []
    traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=60_000)
    try:
        for target, config in ((pair.target, None), (cluster[0], own_cluster)):
            metadata = tf.RunMetadata()
            with tf.Session(target, config=config) as session:
                value = session.run(z, {x: [[1, 0], [0, 2]]}, options=traced, run_metadata=metadata)
            assert value.tolist() == [[1, 0], [0, 16]]
            ran.append({n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats})
    finally:
        pair.stop()
    assert ["y/recv/from_peer" in nodes for nodes in ran] == [True, False]


def test_a_variable_keeps_its_state_there(cluster):
    with tf.device(THERE):
        v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
        x = tf.placeholder(tf.float32, [2], name="x")
        loss = tf.reduce_sum(tf.square(v - x))
    train = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
    with tf.Session(cluster[0]) as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss, {x: [0, 0]})
        session.run(train, {x: [0, 0]})
        assert (first, session.run(loss, {x: [0, 0]})) == (5.0, 1.25)
        assert f"{v.op.name}" in session.explain_placement("v") and FULL in session.explain_placement("v")
    with tf.Session(cluster[1]) as session:  # the task itself as master: it is the same variable
        assert session.run(v).tolist() == [0.5, 1.0]


def test_gradients_cross(cluster):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/job:worker/task:0"):
        a = tf.get_variable("a", initializer=[[1.0], [2.0], [3.0]])
    with tf.device(THERE):
        b = tf.get_variable("b", initializer=2.0, use_resource=True)
        y = tf.tanh(tf.matmul(x, a)) * b
    gradients = tf.gradients(y, [a, b])
    with tf.Session(cluster[0]) as session:
        session.run(tf.global_variables_initializer())
        remote = session.run(gradients, {x: [[.1, .2, .3]]})
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert remote[0].shape == (3, 1)
    import numpy as np
    y0 = np.tanh(1.4)
    np.testing.assert_allclose(remote[0][:, 0], 2 * (1 - y0**2) * np.array([.1, .2, .3]), rtol=1e-5)
    np.testing.assert_allclose(remote[1], y0, rtol=1e-5)


def test_control_flow_there(cluster):
    n = tf.placeholder(tf.int32, [], name="n")
    with tf.device(THERE):
        _, total = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * 2.0), [0, 1.0])
        chosen = tf.cond(n > 3, lambda: total + 1.0, lambda: total - 1.0)
    with tf.Session(cluster[0], config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert [session.run(chosen, {n: k}) for k in (2, 5)] == [3.0, 33.0]


def test_without_a_word_the_master_keeps_its_nodes(cluster):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.exp(x, name="y")
    with tf.device("/job:worker/task:1"):
        z = tf.exp(x, name="z")
    with tf.Session(cluster[0]) as session:
        session.run([y, z], {x: 0.0})
        assert "/task:0/device:CPU:0" in session.explain_placement("y").splitlines()[0]
        assert FULL in session.explain_placement("z").splitlines()[0]


def test_what_has_no_kernel_there_is_told_or_moved(cluster):
    with tf.device(THERE):
        text = tf.string_join(["a", "b"], name="text")
    with tf.Session(cluster[0], config=tf.ConfigProto(allow_soft_placement=False)) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="the devices that meet it have no kernel"):
            session.run(text)
    with tf.Session(cluster[0], config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(text) == b"ab"
        assert "/task:1/device:CPU:0" in session.explain_placement("text").splitlines()[0]


def test_an_error_there_names_node_and_device(cluster):
    x = tf.placeholder(tf.float32, name="x")
    with tf.device(THERE):
        y = tf.matmul(x, x, name="product")
    with tf.Session(cluster[0]) as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
        session.run(y, {x: [[1.0, 2.0]]})
    assert "'product' on " + FULL in error.value.message


def test_a_lost_one_is_told_and_left(cluster, tmp_path):
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.device(THERE):
        y = x * 2.0
    with tf.device("/job:worker/task:1"):
        z = tf.exp(x, name="z")
    with tf.Session(cluster[0]) as session:
        assert session.run([y, z], {x: 0.0}) == [0.0, 1.0]
        (tmp_path / "gone").touch()
        with pytest.raises(tf.errors.UnavailableError, match=f"device {FULL} is lost"):
            session.run(y, {x: 1.0})
    with tf.Session(cluster[0]) as session:  # nodes that do not ask for it go to what is left
        assert session.run(z, {x: 0.0}) == 1.0
        assert "/task:1/device:CPU:0" in session.explain_placement("z").splitlines()[0]
        with pytest.raises(tf.errors.UnavailableError, match=f"device {FULL} is lost"):
            session.run(y, {x: 1.0})
