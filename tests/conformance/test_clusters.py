# SPDX-License-Identifier: Apache-2.0
"""Clusters of three tasks, with the real TensorFlow's client and with its servers among ours: variables, queues, conditionals,
errors and partial runs over tasks."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tasks import cluster_of

tf.disable_v2_behavior()


@pytest.fixture(name="cluster", params=["ours ours ours", "ours new ours", "new ours ours"], ids=lambda p: p.replace(" ", "-"))
def servers(request):
    """The target of worker 0, the master; who serves it, the ps and worker 1."""
    with cluster_of(request.param.split()) as target:
        yield target, request.param


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_graph_spans_three_tasks(cluster):
    target, kinds = cluster
    with tf.device("/job:ps"):
        v = tf.get_variable("v", [3, 2], initializer=tf.ones_initializer(), use_resource=False)
        w = tf.get_variable("w", [2], initializer=tf.zeros_initializer(), use_resource=True)
        queue = tf.FIFOQueue(3, [tf.string])
        put = queue.enqueue("hi")
        taken = queue.dequeue()
        four = tf.constant(3.0) + 1.0
    choose = tf.placeholder(tf.bool, [])
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.matmul(x, v) + w
        loss = tf.reduce_mean(tf.square(y - 1.0))
        said = tf.strings.join([taken, "!"])
        branch = tf.cond(choose, lambda: tf.negative(four), lambda: tf.identity(four))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    feeds = {x: np.ones([2, 3])}
    with tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=60000)) as session:
        assert len(session.list_devices()) == 3
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(y, feeds), np.full([2, 2], 3.0))
        for _ in range(50):
            _, value = session.run([train, loss], feeds)
        assert value < 1e-9
        session.run(put)
        assert session.run(said) == b"hi!"
        assert session.run(branch, {choose: True}) == -4 and session.run(branch, {choose: False}) == 4
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.gather(tf.identity(v), 7))
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(said, options=tf.RunOptions(timeout_in_ms=200))
        handle = session.partial_run_setup([y, loss], [x])
        np.testing.assert_allclose(session.partial_run(handle, y, {x: np.ones([1, 3])}), [[1.0, 1.0]], atol=1e-5)
        assert session.partial_run(handle, loss) < 1e-9
    assert kinds
