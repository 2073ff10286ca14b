# SPDX-License-Identifier: Apache-2.0
"""The real TensorFlow's client on our server: its sessions, steps, errors and callables over the wire."""
import os
import signal

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tasks import serving

tf.disable_v2_behavior()


@pytest.fixture(name="target")
def server():
    with serving.serve({"local": ["127.0.0.1:0"]}, "local") as process:
        try:
            yield serving.ready(process)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


@pytest.mark.parametrize("resource", [False, True])
def test_trains(target, resource):
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer(), use_resource=resource)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
    train = tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(60):
            _, value = session.run([train, loss], {x: np.eye(3)})
    assert value < 1e-3
    with tf.Session(target) as session:  # state is the task's
        np.testing.assert_allclose(session.run(w), np.ones((3, 1)), atol=0.05)
    tf.Session.reset(target)
    with tf.Session(target) as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(w)


def test_loops_queues_and_strings(target):
    total = tf.while_loop(lambda i, s: i < 10, lambda i, s: [i + 1, s + i], [0, 0])[1]
    queue = tf.FIFOQueue(3, [tf.string])
    put, take = queue.enqueue("hi"), queue.dequeue()
    with tf.Session(target) as session:
        assert session.run(total) == 45
        session.run(put)
        assert session.run(take) == b"hi"
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(take, options=tf.RunOptions(timeout_in_ms=100))
        assert session.run(total) == 45


def test_a_graph_grows(target):
    x = tf.placeholder(tf.float32, [])
    y = x * 2.0
    with tf.Session(target) as session:
        assert session.run(y, {x: 3}) == 6
        z = y + 1.0
        assert session.run(z, {x: 3}) == 7
        assert session.make_callable(z, [x])(4.0) == 9


def test_errors_have_their_classes(target):
    x = tf.placeholder(tf.float32, [2])
    table = tf.gather(tf.constant([1.0, 2.0]), tf.placeholder_with_default(5, []))
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="feed"):
            session.run(x)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(table)
        with pytest.raises(tf.errors.OutOfRangeError):
            queue = tf.FIFOQueue(1, [tf.int32])
            session.run(queue.close())
            session.run(queue.dequeue())


def test_partial_runs_and_traces(target):
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    total = a + b
    both = total * b
    with tf.Session(target) as session:
        handle = session.partial_run_setup([total, both], [a, b])
        assert session.partial_run(handle, total, {a: 1, b: 2}) == 3
        assert session.partial_run(handle, both) == 6
        metadata = tf.RunMetadata()
        session.run(both, {a: 1, b: 2}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
        assert both.op.name in [n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats]


def test_every_type_goes_both_ways(target):
    values = [np.array([[1, 0], [1, 1]], t) for t in
              ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "complex64", "complex128")]
    values += [np.array([b"", b"abc"], object), np.zeros([0, 3], np.float32), np.float32(2)]
    fed = [tf.placeholder(tf.as_dtype(np.asarray(v).dtype), np.shape(v)) for v in values]
    with tf.Session(target) as session:
        found = session.run([tf.identity(p) for p in fed], dict(zip(fed, values)))
    for got, wanted in zip(found, values):
        np.testing.assert_array_equal(got, wanted)
        assert np.shape(got) == np.shape(wanted)
    assert len(found) == len(values)
