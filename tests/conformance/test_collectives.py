# SPDX-License-Identifier: Apache-2.0
"""Collective operations from the real TensorFlow's client: over two of our tasks, also by its master, and over tasks of both kinds."""
import os
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from releases import need_1_15
from tasks import TASKS, cluster_of
from tensorflow import raw_ops

tf.disable_v2_behavior()


@pytest.mark.parametrize("kinds, places", [("ours ours ours", ["/job:worker/task:0", "/job:worker/task:1"]),
                                           ("new ours ours", ["/job:ps/task:0", "/job:worker/task:1"])],
                         ids=["client", "master"])
def test_members_in_two_of_our_tasks(kinds, places):
    reduced, gathered, told = [], [], []
    with tf.Graph().as_default() as graph:
        for i, place in enumerate(places):
            keys = dict(group_size=2, group_key=1)
            with tf.device(place + "/cpu:0"):
                x = tf.constant([1.0 + i, 2.5])
                reduced.append(raw_ops.CollectiveReduce(input=x, instance_key=1, merge_op="Add", final_op="Div", subdiv_offsets=[0], **keys))
                gathered.append(raw_ops.CollectiveGather(input=x, instance_key=2, shape=[4], **keys))
                keys.update(instance_key=3, shape=[2])
                told.append(raw_ops.CollectiveBcastRecv(T=tf.float32, **keys) if i else raw_ops.CollectiveBcastSend(input=x, **keys))
    config = tf.ConfigProto(operation_timeout_in_ms=60000)
    config.experimental.collective_group_leader = "/job:worker/replica:0/task:1"
    with cluster_of(kinds.split()) as target, tf.Session(target, graph, config) as session:
        for _ in range(3):
            np.testing.assert_array_equal(session.run(reduced), [[1.5, 2.5]] * 2)
        np.testing.assert_array_equal(session.run(gathered), [[1.0, 2.5, 2.0, 2.5]] * 2)
        np.testing.assert_array_equal(session.run(told), [[1.0, 2.5]] * 2)


# Who is there, and which of them leads. A master of 1.15 would refuse the client's graph.
MIXED = [("ours new ours", 0), ("ours new ours", 1), ("ours ours new", 1), ("ours new new", 2), ("new ours ours", 0), ("new ours ours", 1),
         ("new new ours", 2), ("ours old ours", 0), ("ours old ours", 1), ("ours ours old", 1)]


@pytest.fixture(name="mixed", params=MIXED,
                ids=lambda p: f"{p[0].replace(' ', '-')}-led-by-{p[0].split()[p[1]]}-{p[1]}")
def mixed_cluster(request):
    """The target of worker 0 of a cluster of both kinds; its configuration; whether TensorFlow's tasks are 2.21's; whether the leader
    finds the sender of a broadcast: 1.15 finds none where rank 0 of its own order sends."""
    kinds, leader = request.param
    if "old" in kinds:
        need_1_15()
    job, task = TASKS[leader]
    config = tf.ConfigProto(operation_timeout_in_ms=60000)
    config.experimental.collective_group_leader = f"/job:{job}/replica:0/task:{task}"
    with cluster_of(kinds.split(), config.experimental.collective_group_leader) as target:
        yield target, config, "new" in kinds, kinds.split()[leader] != "old"


def each_task(make):
    made = []
    for i, (job, task) in enumerate([("ps", 0), ("worker", 0), ("worker", 1)]):  # by rank
        with tf.device(f"/job:{job}/task:{task}/cpu:0"):
            made.append(make(i))
    return made


def keyed(timeout_ms=60000):
    """TensorFlow's masters say that there are collective operations only where the step has a key."""
    return tf.RunOptions(timeout_in_ms=timeout_ms, experimental=tf.RunOptions.Experimental(collective_graph_key=7))


def test_members_of_both_kinds(mixed):
    target, config, is_new, can_tell = mixed
    values = np.random.RandomState(0).standard_normal([3, 1000]).astype(np.float32)
    large = np.random.RandomState(1).randint(0, 100, [3, 4_000_001]).astype(np.int32)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3, 1000])
        n = tf.placeholder(tf.int32, [3, None])
        keys = dict(group_size=3, group_key=1)

        def reduce(value, instance, merge="Add", final="Id", offsets=(0,)):
            return raw_ops.CollectiveReduce(input=value, instance_key=instance, merge_op=merge, final_op=final,
                                            subdiv_offsets=list(offsets), **keys)

        def told(i):
            if i == 1:
                return raw_ops.CollectiveBcastSend(input=x[i] + 0.0, instance_key=6, shape=[1000], **keys)
            return raw_ops.CollectiveBcastRecv(T=tf.float32, instance_key=6, shape=[1000], **keys)

        runs = [
            (each_task(lambda i: reduce(x[i], 1, final="Div")), values.mean(0)),
            (each_task(lambda i: reduce(x[i], 2, merge="Mul")), values.prod(0)),
            (each_task(lambda i: reduce(x[i], 3, offsets=[0, 0])), values.sum(0)),
            (each_task(lambda i: reduce(n[i], 4, offsets=[])), large.sum(0)),
            (each_task(lambda i: raw_ops.CollectiveGather(input=x[i][:7], instance_key=5, shape=[21], **keys)), values[:, :7].reshape(-1)),
            *([(each_task(told), values[1])] if can_tell else []),
        ]
        if is_new:
            again = dict(keys, ordering_token=[])
            runs += [
                (each_task(lambda i: reduce(x[i], 10, merge="Max")), values.max(0)),
                (each_task(lambda i: raw_ops.CollectiveReduceV2(input=x[i], instance_key=11, merge_op="Min", final_op="Id", **again)),
                 values.min(0)),
                (each_task(lambda i: raw_ops.CollectiveGatherV2(input=x[i][:5], instance_key=12, **again)), values[:, :5].reshape(-1)),
                (each_task(lambda i: raw_ops.CollectiveAllToAllV2(input=x[:, :3] * float(i + 1), instance_key=13, **again)), None),
            ]
    with tf.Session(target, graph, config) as session:
        for made, expected in runs:
            for _ in range(2):  # the second time everybody knows the group
                results = session.run(made, {x: values, n: large}, options=keyed())
                if expected is None:
                    for i, result in enumerate(results):
                        np.testing.assert_allclose(result, [values[i, :3] * (j + 1) for j in range(3)], rtol=1e-6)
                    continue
                for result in results:
                    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
                    assert result.tobytes() == results[0].tobytes()


@pytest.mark.parametrize("mixed", [("ours new ours", 0), ("new ours ours", 0)], indirect=True, ids=["our-master", "their-master"])
def test_many_steps(mixed, request):
    """At once, too: but not by TensorFlow's master, which gives steps of one graph key that overlap one number."""
    target, config, _, _ = mixed
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        made = each_task(lambda i: raw_ops.CollectiveReduce(input=tf.fill([100], x * float(i + 1)), group_size=3, group_key=1, instance_key=1,
                                                            merge_op="Add", final_op="Id", subdiv_offsets=[0]))
    errors = []

    def steps(session, value):
        try:
            for _ in range(10):
                for result in session.run(made, {x: value}, options=keyed()):
                    np.testing.assert_array_equal(result, np.full([100], 6 * value, np.float32))
        except Exception as e:  # pylint: disable=broad-except
            errors.append(e)

    with tf.Session(target, graph, config) as session:
        steps(session, 1.0)
        threads = [threading.Thread(target=steps, args=(session, float(v))) for v in range(2, 6)]
        at_once = "our-master" in request.node.name
        for t in threads:
            t.start()
            if not at_once:
                t.join(120)
        for t in threads:
            t.join(120)
    assert not errors, [str(e) for e in errors]


@pytest.mark.parametrize("kinds", ["ours ours new", "new ours ours"])
def test_members_in_sessions_of_their_own(kinds):
    """Between-graph replication: each worker's program runs its own graph on its own server, whose master may be of either kind."""
    leader = "/job:worker/replica:0/task:0"
    results = {}

    def program(target, i):
        config = tf.ConfigProto(operation_timeout_in_ms=60000, device_filters=[f"/job:worker/task:{i}"])
        config.experimental.collective_group_leader = leader
        with tf.Graph().as_default() as graph:
            with tf.device(f"/job:worker/task:{i}/cpu:0"):
                made = raw_ops.CollectiveReduce(input=tf.fill([1000], float(i + 1)), group_size=2, group_key=1, instance_key=1,
                                                merge_op="Add", final_op="Id", subdiv_offsets=[0])
            with tf.Session(target, graph, config) as session:
                try:
                    results[i] = [session.run(made, options=keyed()) for _ in range(5)]
                except tf.errors.OpError as error:
                    results[i] = error

    with cluster_of(kinds.split(), leader, every_target=True) as targets:
        programs = [threading.Thread(target=program, args=(targets[2 * i], i)) for i in range(2)]
        for thread in programs:
            thread.start()
        for thread in programs:
            thread.join(120)
    for i in range(2):
        assert not isinstance(results[i], Exception), results[i]
        for result in results[i]:
            np.testing.assert_array_equal(result, np.full(1000, 3.0, np.float32))
