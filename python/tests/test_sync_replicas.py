# SPDX-License-Identifier: Apache-2.0
"""Synchronous replicas: SyncReplicasOptimizer, where variables live, and where the core's nodes run (papers B4.4)."""
import queue
import threading

import numpy as np
import pytest
import thalweg as tf
from test_server import three_servers  # noqa: F401  (the fixture `cluster`)
from thalweg.contrib import training as contrib_training
from thalweg.training import sync_replicas


def replica(task, aggregated=2, total=2, **options):
    """(graph, what a test needs of it): variables on the ps whose gradients are fed."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device=f"/job:worker/task:{task}")):
        step = tf.train.get_or_create_global_step()
        dense = tf.get_variable("dense", [2], initializer=tf.zeros_initializer())
        rows = tf.get_variable("rows", [4, 2], initializer=tf.zeros_initializer())
        x = tf.placeholder(tf.float32, [2], name="x")
        ids = tf.placeholder(tf.int32, [None], name="ids")
        loss = tf.reduce_sum(dense * x) + tf.reduce_sum(tf.nn.embedding_lookup(rows, ids) * x)
        sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), aggregated, total, **options)
        train = sync.minimize(loss, global_step=step)
    return graph, dict(step=step, dense=dense, rows=rows, sync=sync, train=train, x=x, ids=ids)


def all_of(functions):
    """Runs each in a thread of its own; raises what one has raised."""
    failures = []

    def guarded(function):
        try:
            function()
        except Exception as error:  # raised below
            failures.append(error)
    threads = [threading.Thread(target=guarded, args=(f,), daemon=True) for f in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
        assert not t.is_alive(), failures
    if failures:
        raise failures[0]


def test_two_replicas_make_one_step_of_their_mean(cluster):
    """B4.4 (b): dense and sparse gradients are averaged, all replicas go on together."""
    def run(task):
        graph, r = replica(task)
        hooks = [r["sync"].make_session_run_hook(task == 0, num_tokens=0), None]
        with graph.as_default():
            hooks[1] = tf.train.StopAtStepHook(last_step=20)
            with tf.train.MonitoredTrainingSession(cluster[0 if task == 0 else 2].target, task == 0, hooks=hooks,
                                                   max_wait_secs=60) as session:
                while not session.should_stop():
                    session.run(r["train"], {r["x"]: [1.0, 3.0] if task == 0 else [3.0, 1.0], r["ids"]: [task]})

    with tf.Graph().as_default():
        all_of([lambda: run(0), lambda: run(1)])
    graph, r = replica(0)
    with tf.Session(cluster[0].target, graph=graph) as session:
        step, dense, rows = session.run([r["step"], r["dense"], r["rows"]])
    assert step == 20
    # Of every step the mean of two gradients; the two tokens of a step are anybody's, so both may be of one replica (as in 1.15).
    np.testing.assert_allclose(dense.sum(), -80.0)
    assert abs(dense[0] - dense[1]) <= 20
    # Rows: the mean over those that had the row.
    np.testing.assert_allclose(rows[0, 1], 3 * rows[0, 0])
    np.testing.assert_allclose(rows[1, 0], 3 * rows[1, 1])
    assert -20 <= rows[0, 0] < 0 and -20 <= rows[1, 1] < 0 and rows[0, 0] + rows[1, 1] <= -20
    assert not rows[2:].any()


@pytest.mark.parametrize("first", [0, 1])
def test_a_replica_that_ends_leaves_nobody_waiting_for_its_gradient(cluster, first):
    """The other has taken the last tokens, or stopped for a reason of its own."""
    def session_of(task):
        graph, r = replica(task)
        with graph.as_default():
            return r, tf.train.MonitoredTrainingSession(cluster[0 if task == 0 else 2].target, task == 0, max_wait_secs=60,
                                                        hooks=[r["sync"].make_session_run_hook(task == 0, num_tokens=0)])

    with tf.Graph().as_default():
        sessions = [session_of(0), session_of(1)]
        r, waiting = sessions[1 - first]
        all_of([sessions[first][1].close, lambda: waiting.run(r["train"], {r["x"]: [1.0, 3.0], r["ids"]: [0]})])
        waiting.close()


def test_a_replica_that_comes_after_its_chief_has_failed_says_so_and_goes_on_with_the_next(cluster, monkeypatch):
    """The chief fails in its first step, before the other has a session: that one finds tokens, uses them up and waits."""
    said = queue.Queue()
    monkeypatch.setattr(sync_replicas, "_LONG", 0.2)
    monkeypatch.setattr(sync_replicas.tw_logging, "warning", lambda text, *values: said.put(text % values))

    def session_of(task):
        graph, r = replica(task)
        with graph.as_default():
            return r, tf.train.MonitoredTrainingSession(cluster[0 if task == 0 else 2].target, task == 0, max_wait_secs=60, hooks=[
                r["sync"].make_session_run_hook(task == 0), tf.train.StopAtStepHook(last_step=5)])

    def train(r, session):
        with session:
            while not session.should_stop():
                session.run(r["train"], {r["x"]: [1.0, 3.0], r["ids"]: [0]})

    r, chief = session_of(0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="indices"), chief:
        chief.run(r["train"], {r["x"]: [1.0, 3.0], r["ids"]: [99]})
    late = threading.Thread(target=lambda: train(*session_of(1)), daemon=True)
    late.start()
    words = said.get(timeout=120)
    while "2 of 2 gradients are there: has the chief ended" not in words:  # until the tokens of the beginning are used up
        words = said.get(timeout=120)
    assert "must apply the gradients of 2 replicas for step 0" in words and late.is_alive()
    train(*session_of(0))
    late.join(120)
    assert not late.is_alive()


def test_a_late_gradient_is_dropped_and_counted(cluster):
    """B4.4 (c), 1604.00981: of two replicas the first makes the step; what the other has computed for it counts no more."""
    made = [replica(task, 1, 2) for task in (0, 1)]
    sessions = [tf.Session(cluster[0 if task == 0 else 2].target, graph=made[task][0]) for task in (0, 1)]
    first, second = (r for _, r in made)
    with made[0][0].as_default():
        sessions[0].run(tf.global_variables_initializer())
        sessions[0].run(tf.local_variables_initializer())
        update = first["sync"].get_chief_queue_runner().enqueue_ops[0]
        sessions[0].run(first["sync"].chief_init_op)
    with made[1][0].as_default():
        sessions[1].run(tf.local_variables_initializer())
        sessions[1].run(second["sync"].local_step_init_op)
    all_of([lambda: sessions[0].run(first["train"], {first["x"]: [1, 1], first["ids"]: [0]}), lambda: sessions[0].run(update)])
    # The second has begun with step 0; its gradient comes when step 1 is open, and its token is waiting.
    assert sessions[1].run(second["train"], {second["x"]: [100, 100], second["ids"]: [3]}) == 1
    dropped = [sessions[task].run(graph.get_tensor_by_name("sync_rep_dropped:0")) for task, (graph, _) in enumerate(made)]
    assert dropped == [0, 1]
    step, dense, rows = sessions[0].run([first["step"], first["dense"], first["rows"]])
    assert step == 1 and dense.tolist() == [-1, -1] and not rows[3].any()
    for s in sessions:
        s.close()


def test_wrong_uses_are_told_as_in_version_1():
    with tf.Graph().as_default():
        step, v = tf.train.get_or_create_global_step(), tf.get_variable("v", [])
        sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 3, 1)
        for early in (sync.get_chief_queue_runner, sync.get_init_tokens_op, sync.make_session_run_hook(True).begin):
            with pytest.raises(ValueError, match="after apply_gradients|before using the hook"):
                early()
        with pytest.raises(ValueError, match="Must supply at least one variable"):
            sync.apply_gradients([], step)
        with pytest.raises(ValueError, match="Global step is required"):
            sync.apply_gradients([(tf.constant(1.0), v)])
        sync.apply_gradients([(tf.constant(1.0), v)], step)
        with pytest.raises(ValueError, match=r"0 \(given\) vs 2 \(needed\)"):
            sync.get_init_tokens_op(0)


def test_variables_go_where_version_1_puts_them():
    """Recorded from 1.15: tasks in turn, by least load (a resource counts as 1 byte), by the hash of the name."""
    setter = tf.train.replica_device_setter
    with tf.Graph().as_default():
        with tf.device(setter(ps_tasks=3, ps_strategy=contrib_training.GreedyLoadBalancingStrategy(
                3, contrib_training.byte_size_load_fn))):
            devices = [tf.get_variable(f"v{i}", shape, use_resource=i % 2 == 0).device[-1]
                       for i, shape in enumerate([[10], [20], [5, 5], [1], [7, 7], [3], []])]
        assert devices == list("0120220")
        with tf.device(setter(ps_tasks=5, ps_strategy=contrib_training.RandomStrategy(5, seed=3))):
            assert [int(tf.get_variable(f"r{i}", [1]).device[-1]) for i in range(12)] == [3, 0, 4, 4, 1, 1, 2, 2, 2, 4, 3, 0]
        with tf.device(setter(ps_tasks=2, ps_device="/job:ps/task:1", worker_device="/job:worker/task:1/gpu:0")):
            assert [tf.Variable(1.0).device for _ in range(2)] == ["/job:ps/task:0", "/job:ps/task:1"]
            with tf.device("/cpu:1"):
                assert tf.constant(1.0).device == "/job:worker/task:1/device:CPU:1"
            with tf.device("/job:ps/task:7"):
                assert tf.Variable(1.0).device == "/job:ps/task:7"
        with tf.device("/job:q"), tf.device(setter(ps_tasks=2)):
            assert tf.Variable(1.0).device == "/job:ps/task:0" and tf.constant(1.0).device == "/job:worker"
        with tf.device("/cpu:1"), tf.device(lambda op: "/job:ps"), tf.device("/cpu:2"):
            assert tf.constant(1).device == "/job:ps/device:CPU:1"
        assert setter(cluster={"other": ["a:1"]}) is None
        with pytest.raises(TypeError):
            setter(cluster=5)


def test_gradients_run_on_the_device_of_the_scopes():
    """As in 1.15: what gradients() adds is on the worker; what changes a variable is where the variable is."""
    with tf.Graph().as_default() as graph, tf.device(tf.train.replica_device_setter(ps_tasks=1)):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [3, 2])
        loss = tf.reduce_sum(tf.matmul(tf.placeholder(tf.float32, [None, 3]), w))
        before = len(graph.get_operations())
        tf.gradients(loss, w)
        assert {op.device for op in graph.get_operations()[before:]} == {"/job:worker"}
        assert tf.assign(step, 3).op.device == "/job:ps/task:0"
        before = len(graph.get_operations())
        tf.gradients(loss, w, colocate_gradients_with_ops=True)
        assert any(op.colocation_groups() == [b"loc:@MatMul"] for op in graph.get_operations()[before:])
    with tf.Graph().as_default() as graph:
        loss = tf.square(tf.get_variable("v", []))
        with tf.device("/cpu:1"):
            assert tf.gradients(loss, tf.trainable_variables())[0].device == "/device:CPU:1"


@pytest.mark.parametrize("kind", ["synchronous", "bounded"])
def test_a_step_that_has_failed_is_not_watched_any_more(kind, monkeypatch):
    """The program catches the end of its data and goes on with something else: after_run never comes."""
    looks = queue.Queue()
    monkeypatch.setattr(sync_replicas, "_LONG", 0.05)
    with tf.Graph().as_default():
        step, v = tf.train.get_or_create_global_step(), tf.get_variable("v", [], initializer=tf.zeros_initializer())
        item = tf.data.Dataset.from_tensors(1.0).make_one_shot_iterator().get_next()
        descent = tf.train.GradientDescentOptimizer(1.0)
        if kind == "synchronous":
            optimizer, look = tf.train.SyncReplicasOptimizer(descent, 1, 1), "_tell"
        else:
            optimizer, look = tf.train.BoundedStalenessOptimizer(descent, 1, 1, 0, lost_after=0.05), "_give_up"
        train = optimizer.minimize(v * item, global_step=step)
        hook = optimizer.make_session_run_hook(True)
        hook.before_run(None)  # without a session there is nothing to watch
        hook.after_run(None, None)
        monkeypatch.setattr(hook, look, lambda session: looks.put(session) or 0.05)
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(train)
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(train)
            while not looks.empty():  # a step on a busy machine may have lasted
                looks.get()
            with pytest.raises(queue.Empty):
                looks.get(timeout=0.5)
