# SPDX-License-Identifier: Apache-2.0
"""Bounded staleness: between synchronous and asynchronous replicas (papers B4.4 (a), (b))."""
import threading
import time

import numpy as np
import pytest
import thalweg as tf
from test_server import three_servers  # noqa: F401  (the fixture `cluster`)
from test_sync_replicas import all_of

ASLEEP = 2


def replica(number, total, staleness, worker=None, **options):
    """(graph, what a test needs of it): a counter of updates on the ps; all of it in this process without a worker."""
    graph = tf.Graph()
    setter = tf.train.replica_device_setter(ps_tasks=1, worker_device=worker) if worker else None
    with graph.as_default(), tf.device(setter):
        step = tf.train.get_or_create_global_step()
        total_updates = tf.get_variable("updates", [], initializer=tf.zeros_initializer(), use_resource=True)
        bounded = tf.train.BoundedStalenessOptimizer(tf.train.GradientDescentOptimizer(1.0, use_locking=True), staleness, total,
                                                     number, **options)
        train = bounded.minimize(-total_updates, global_step=step)
    return graph, dict(step=step, updates=total_updates, bounded=bounded, train=train)


class Replicas:
    """Replicas that have joined, each with a session at one of the targets."""

    def __init__(self, targets, staleness, workers=None):
        workers = workers or [None] * len(targets)
        made = [replica(i, len(targets), staleness, workers[i]) for i in range(len(targets))]
        self.parts = [part for _, part in made]
        self.sessions = [tf.Session(target, graph=graph) for target, (graph, _) in zip(targets, made)]
        with made[0][0].as_default():
            self.sessions[0].run(tf.global_variables_initializer())
        for session, part in zip(self.sessions, self.parts):
            session.run(part["bounded"].join_op)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for s in self.sessions:
            s.close()

    def train(self, number, steps=1, **options):
        for _ in range(steps):
            self.sessions[number].run(self.parts[number]["train"], **options)

    def get(self, what, number=0):
        part = self.parts[number]
        return self.sessions[number].run(part[what] if what in part else getattr(part["bounded"], what)).tolist()

    def await_sleep(self, number):
        """Until a replica sleeps: there is no event for what somebody waits for."""
        until = time.monotonic() + 60
        while self.get("modes", 1)[number] != ASLEEP:
            assert time.monotonic() < until, self.get("modes", 1)


@pytest.fixture(name="targets", params=["one process", "cluster"])
def kinds_of_replicas(request):
    """(targets, workers' devices) of two replicas."""
    if request.param == "cluster":
        servers = request.getfixturevalue("cluster")
        return [servers[0].target, servers[2].target], ["/job:worker/task:0", "/job:worker/task:1"]
    server = tf.train.Server.create_local_server()
    request.addfinalizer(server.stop)
    return [server.target] * 2, None


def test_a_replica_sleeps_when_it_is_too_far_ahead(targets):
    with Replicas(targets[0], 2, targets[1]) as r:
        r.train(0, 2)  # two ahead: as far as it may
        assert r.get("modes") == [1, 1] and r.get("steps") == [2, 0]
        third = threading.Thread(target=r.train, args=(0,), daemon=True)
        third.start()
        r.await_sleep(0)
        assert r.get("steps", 1) == [3, 0] and third.is_alive()
        assert r.get("updates", 1) == 3  # it sleeps after its update, which the other reads
        r.train(1)
        third.join(60)
        assert not third.is_alive()
        assert r.get("steps") == [3, 1] and r.get("modes") == [1, 1] and r.get("step") == 4


def test_a_deadline_ends_a_sleep_and_what_is_left_of_it_wakes_nobody(targets):
    with Replicas(targets[0], 0, targets[1]) as r:
        for made in (1, 2):
            for milliseconds in (300, 3000, 30000):  # a deadline may also be over before the step is made
                with pytest.raises(tf.errors.DeadlineExceededError):
                    r.train(0, options=tf.RunOptions(timeout_in_ms=milliseconds))
                if r.get("steps") == [made, 0]:
                    break
            assert r.get("steps") == [made, 0]
        r.train(1, 2)  # tells the first sleeper, who is not there any more; both are even now
        assert r.get("steps") == [2, 2]
        third = threading.Thread(target=r.train, args=(0,), daemon=True)
        third.start()
        r.await_sleep(0)
        assert third.is_alive()
        r.train(1)
        third.join(60)
        assert not third.is_alive() and r.get("steps") == [3, 3]


def test_a_session_that_is_closed_ends_its_sleep(targets):
    with Replicas(targets[0], 0, targets[1]) as r:
        failed = []

        def sleep():
            try:
                r.train(0)
            except tf.errors.OpError as error:
                failed.append(error.error_code)
        sleeper = threading.Thread(target=sleep, daemon=True)
        sleeper.start()
        r.await_sleep(0)
        r.sessions[0].close()
        sleeper.join(60)
        assert not sleeper.is_alive() and failed[0] in (tf.errors.CANCELLED, tf.errors.ABORTED)
        with r.parts[0]["train"].graph.as_default():
            r.sessions[0] = tf.Session(targets[0][0])
        r.sessions[0].run(r.parts[0]["bounded"].join_op)
        assert r.get("steps") == [0, 0]  # with the slowest of the others


@pytest.mark.parametrize("staleness", [0, 1, 5])
def test_nobody_is_further_ahead_than_it_may(staleness):
    """Four replicas of one process, as fast as they can: whenever one begins a step, it is at most `staleness` ahead."""
    server, steps = tf.train.Server.create_local_server(), 40
    with Replicas([server.target] * 4, staleness) as r:
        def run(number):
            for _ in range(steps):
                mine, others = (lambda s: (s[number], s))(r.get("steps", number))
                assert mine - min(others) <= staleness, others
                r.train(number)
            r.sessions[number].run(r.parts[number]["bounded"].leave_op)
        all_of([lambda number=number: run(number) for number in range(4)])
        assert r.get("steps") == [steps] * 4 and r.get("modes") == [0] * 4
        assert r.get("updates") == r.get("step") == 4 * steps
    server.stop()


def test_the_others_go_on_without_a_lost_replica_and_it_comes_back(cluster):
    """H3: a replica that ends no step for lost_after blocks nobody; its next step lets it in where the slowest is."""
    def session(number):
        graph, part = replica(number, 2, 1, f"/job:worker/task:{number}", lost_after=0.3)
        with graph.as_default():
            hook = part["bounded"].make_session_run_hook(number == 0)
            return part, tf.train.MonitoredTrainingSession(cluster[2 * number].target, number == 0, hooks=[hook],
                                                           max_wait_secs=60, log_step_count_steps=None)
    first, chief = session(0)
    second, lost = session(1)
    for _ in range(12):
        chief.run(first["train"])
    assert chief.run(first["bounded"].steps).tolist() == [12, 0]
    assert chief.run(first["bounded"].modes).tolist() == [1, 0]
    lost.run(second["train"])
    assert chief.run(first["bounded"].steps).tolist() == [12, 13]
    assert chief.run(first["bounded"].modes).tolist() == [1, 1]
    lost.close()  # a replica that ends is waited for no more
    chief.run(first["train"])
    assert chief.run(first["bounded"].modes).tolist() == [1, 0]
    for _ in range(5):
        chief.run(first["train"])
    chief.close()


def test_a_chief_that_begins_again_wakes_all(targets):
    with Replicas(targets[0], 0, targets[1]) as r:
        sleeper = threading.Thread(target=r.train, args=(0,), daemon=True)
        sleeper.start()
        r.await_sleep(0)
        r.sessions[1].run(r.parts[1]["bounded"].begin_op)
        sleeper.join(60)
        assert not sleeper.is_alive() and r.get("modes") == [0, 0] and r.get("steps") == [0, 0]


def test_wrong_uses_are_told():
    with tf.Graph().as_default():
        inner = tf.train.GradientDescentOptimizer(1.0)
        for arguments, message in (((-1, 2, 0), "staleness must be"), ((1, 2, 2), "got replica 2 of 2"), ((1, 0, 0), "of 0"),
                                   ((1, 2, 0, -1.0), "lost_after must be"), ((1, 2, 0, np.nan), "lost_after must be")):
            with pytest.raises(ValueError, match=message):
                tf.train.BoundedStalenessOptimizer(inner, *arguments)
        v, bounded = tf.get_variable("v", []), tf.train.BoundedStalenessOptimizer(inner, 1, 2, 0)
        for early in (lambda: bounded.steps, bounded.make_session_run_hook().begin):
            with pytest.raises(ValueError, match="after apply_gradients"):
                early()
        with pytest.raises(ValueError, match="at least one variable"):
            bounded.apply_gradients([])
        train = bounded.apply_gradients([(tf.constant(1.0), v)])
        with pytest.raises(ValueError, match="called before"):
            bounded.apply_gradients([(tf.constant(1.0), v)])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            with pytest.raises(tf.errors.FailedPreconditionError, match="bounded_staleness/state"):
                session.run(train)  # nobody has joined
        assert not [v for v in tf.global_variables() if v.op.name.startswith("bounded_staleness/")]  # no checkpoint has it
