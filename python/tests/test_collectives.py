# SPDX-License-Identifier: Apache-2.0
"""Collective operations over the devices of a process, and the all-reduce that is made of ordinary nodes (papers A7, B4.4)."""

import deadlines
import numpy as np
import pytest
import thalweg as tw
from thalweg.cluster.local_cluster import free_ports

DEVICES = 4


def session(devices=DEVICES):
    return tw.Session(config=tw.ConfigProto(device_count={"CPU": devices}))


def each(make, devices=DEVICES):
    """make(i) on every device."""
    made = []
    for i in range(devices):
        with tw.device(f"/cpu:{i}"):
            made.append(make(i))
    return made


def reduce(value, size=DEVICES, instance=1, merge="Add", final="Id", **more):
    return tw.raw_ops.CollectiveReduce(input=value, group_size=size, group_key=1, instance_key=instance, merge_op=merge,
                                       final_op=final, subdiv_offsets=[0], **more)


@pytest.mark.parametrize("merge, final", [("Add", "Id"), ("Add", "Div"), ("Mul", "Id"), ("Min", "Id"), ("Max", "Id")])
def test_reductions_over_devices_have_the_same_bits_in_every_run(merge, final):
    values = np.random.RandomState(0).standard_normal([DEVICES, 1000]).astype(np.float32) * 100
    fed = [tw.placeholder(tw.float32, [1000]) for _ in range(DEVICES)]
    made = each(lambda i: reduce(fed[i] + 0.0, merge=merge, final=final))
    expected = {"Add": np.sum, "Mul": np.prod, "Min": np.min, "Max": np.max}[merge](values.astype(np.float64), 0)
    with session() as sess:
        assert "CPU:3" in sess.explain_placement(made[3].op.name)
        runs = [sess.run(made, dict(zip(fed, values))) for _ in range(50)]
    np.testing.assert_allclose(runs[0][0], expected / (DEVICES if final == "Div" else 1), rtol=2e-4, atol=1e-3)
    assert {result.tobytes() for run in runs for result in run} == {runs[0][0].tobytes()}


def test_the_other_operations():
    rows = np.arange(8, dtype=np.int32).reshape(4, 2)
    raw, keys = tw.raw_ops, dict(group_size=DEVICES, group_key=1)
    gathered = each(lambda i: raw.CollectiveGather(input=tw.constant(rows[i:i + 1]), instance_key=1, shape=[4, 2], **keys))
    gathered += each(lambda i: raw.CollectiveGatherV2(input=tw.constant(rows[i:i + 1]), instance_key=2, ordering_token=[], **keys))
    exchanged = each(lambda i: raw.CollectiveAllToAllV2(input=tw.constant(rows + 10 * i), instance_key=3, ordering_token=[], **keys))
    sent = each(lambda i: raw.CollectiveBcastSendV2(input=tw.constant(rows), instance_key=4, **keys) if i == 2 else
                raw.CollectiveBcastRecvV2(T=tw.int32, shape=[4, 2], instance_key=4, **keys))
    with session() as sess:
        for value in sess.run(gathered + sent):
            np.testing.assert_array_equal(value, rows)
        for i, value in enumerate(sess.run(exchanged)):
            np.testing.assert_array_equal(value, [rows[i] + 10 * j for j in range(4)])


def test_in_a_loop_iterations_meet_each_other():
    def body(i, *values):
        return (i + 1, *each(lambda d: reduce(values[d] + float(d), 2, final="Div"), 2))
    loop = tw.while_loop(lambda i, *_: i < 50, body, [0, 1.0, 5.0])
    with session(2) as sess:
        assert sess.run(loop) == [50, 3.5 + 49 * 0.5, 3.5 + 49 * 0.5]


def test_steps_at_once_do_not_meet():
    import threading
    fed = tw.placeholder(tw.float32, [])
    made = each(lambda i: reduce(fed * float(i + 1)))
    wrong = []
    with session() as sess:
        def client(number):
            for _ in range(50):
                if sess.run(made, {fed: number}) != [10.0 * number] * DEVICES:
                    wrong.append(number)
        threads = [threading.Thread(target=client, args=[n]) for n in range(1, 5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)


@pytest.mark.parametrize("other, message", [
    (lambda v: reduce(v[:2], 2), "Shape mismatch"), (lambda v: reduce(tw.cast(v, tw.float64), 2), "type"),
    (lambda v: reduce(v, 3), "group size"), (lambda v: reduce(v, 2, merge="Mul"), "merge")])
def test_members_that_contradict(other, message):
    value = tw.constant([1.0, 2.0, 3.0])
    made = each(lambda i: other(value) if i else reduce(value, 2), 2)
    with session(2) as sess:
        with pytest.raises(tw.errors.InvalidArgumentError, match=message):
            sess.run(made)


def test_a_member_that_does_not_come():
    queue = tw.FIFOQueue(1, tw.float32)
    made = each(lambda i: reduce(tw.reshape(queue.dequeue(), [1]) if i else tw.ones([1]), 2), 2)
    soon = each(lambda i: reduce(tw.reshape(queue.dequeue(), [1]) if i else tw.ones([1]), 2, instance=2, timeout_seconds=0.02), 2)
    with session(2) as sess:
        with pytest.raises(tw.errors.DeadlineExceededError, match="1 of 2 members are here: /job:localhost"):
            sess.run(soon)
        deadlines.says("group 1, instance 1 .* 1 of 2 members", lambda options: sess.run(made, options=options))
        sess.run(queue.enqueue(3.0))
        assert sess.run(made) == [[4.0], [4.0]]


def test_a_member_that_cannot_come():
    made = each(lambda i: reduce(tw.constant(1.0), 2), 2)
    with session(2) as sess:
        with pytest.raises(tw.errors.UnimplementedError, match="instance 1 has 1 of 2 members"):
            sess.run(made[0])
        assert sess.run(made) == [2.0, 2.0]


@pytest.fixture(name="tasks")
def two_tasks():
    """The target of the first of two tasks that have two devices each."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    config = tw.ConfigProto(device_count={"CPU": 2})
    servers = [tw.train.Server({"worker": addresses}, "worker", i, config=config) for i in range(2)]
    yield servers[0].target
    for server in servers:
        server.stop()


def over_tasks(make):
    made = []
    for i in range(2):
        with tw.device(f"/job:worker/task:{i}"):
            made.append(make(i))
    return made


def test_members_in_two_tasks(tasks):
    made = over_tasks(lambda i: reduce(tw.constant(1.0 + i), 2))
    never = over_tasks(lambda i: reduce(tw.reshape(tw.FIFOQueue(1, tw.float32).dequeue(), []) if i else tw.constant(1.0), 2, instance=2))
    config = tw.ConfigProto()
    config.experimental.collective_group_leader = "/job:worker/task:1"
    with tw.Session(tasks, config=config) as sess:
        assert sess.run(made, options=tw.RunOptions(timeout_in_ms=20000)) == [3.0, 3.0]
        deadlines.says("whose 2 members join at /job:worker/replica:0/task:1", lambda options: sess.run(never, options=options))
        places = ["/job:worker/task:0", "/job:worker/task:1"]
        ring = tw.distribute.ring_all_reduce([tw.constant([1.0, 2.0]), tw.constant([3.0, 5.0])], devices=places)
        assert [r.tolist() for r in sess.run(ring)] == [[4.0, 7.0]] * 2


def test_groups_within_the_tasks_of_a_step(tasks):
    """Both have the same keys: at one place the members of both would be too many."""
    made = over_tasks(lambda task: each(lambda i: reduce(tw.constant(1.0 + i + 10 * task), 2), 2))
    with tw.Session(tasks) as sess:
        assert sess.run(made, options=tw.RunOptions(timeout_in_ms=20000)) == [[3.0, 3.0], [23.0, 23.0]]


# ---- the ring ----
@pytest.mark.parametrize("devices", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [[], [1], [10], [3, 5], [0, 4]])
@pytest.mark.parametrize("known", [True, False])
def test_ring(devices, shape, known):
    values = np.random.RandomState(1).standard_normal([devices, *shape])
    fed = each(lambda i: tw.placeholder(tw.float64, shape if known else None), devices)
    made = {op: tw.distribute.ring_all_reduce([f + 0.0 for f in fed], op, [f"/cpu:{i}" for i in range(devices)])
            for op in ("sum", "mean", "prod", "max", "min")}
    if known:
        assert all(t.shape.as_list() == shape for t in made["sum"])
    with session() as sess:
        for i in range(devices):
            assert f"CPU:{i}" in made["sum"][i].device
        got = sess.run(made, dict(zip(fed, values)))
    for op, results in got.items():
        for result in results:
            np.testing.assert_allclose(result, getattr(np, op)(values, 0), rtol=1e-13)
            assert result.shape == tuple(shape) and result.tobytes() == results[0].tobytes()


def test_each_device_of_the_ring_speaks_to_its_neighbors_only():
    made = tw.distribute.ring_all_reduce(each(lambda i: tw.constant(np.ones(12), name=f"x{i}")))
    crossing = {(t.op.device[-1], op.device[-1]) for op in made[0].graph.get_operations() for t in op.inputs
                if t.op.device != op.device}
    assert crossing == {("0", "1"), ("1", "2"), ("2", "3"), ("3", "0")}


def test_what_a_ring_cannot_merge():
    ring = tw.distribute.ring_all_reduce
    x, y = tw.constant([1.0, 2.0]), tw.placeholder(tw.float32)
    for tensors, more, message in [([], {}, "at least one"), ([x], dict(op="xor"), "op must be one of"),
                                   ([x, tw.constant([1, 2])], {}, "one type"), ([x, x[:1]], {}, "one shape"),
                                   ([x, x], dict(devices=["/cpu:0"]), "2 tensors and 1 devices")]:
        with pytest.raises(ValueError, match=message):
            ring(tensors, **more)
    with session() as sess:
        with pytest.raises(tw.errors.InvalidArgumentError, match="one shape"):
            sess.run(ring([x, y], devices=["/cpu:0", "/cpu:1"]), {y: [1.0]})
