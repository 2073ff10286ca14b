# SPDX-License-Identifier: Apache-2.0
"""Collective operations whose members are in several processes: the same bits as within one, and nobody waits for a member that
cannot come."""
import os
import signal
import subprocess
import threading

import numpy as np
import pytest
import serving
import thalweg as tf
from thalweg.cluster.local_cluster import free_ports


class Tasks:
    def __init__(self, count):
        self.spec = {"worker": [f"127.0.0.1:{port}" for port in free_ports(count)]}
        self.processes = [self.start(i) for i in range(count)]
        self.targets = [serving.ready(p) for p in self.processes]

    def start(self, i):
        return serving.serve(self.spec, "worker", i, "--threads", "1")

    def stop(self):
        for p in self.processes:
            p.kill()
            p.wait(60)
            p.stdout.close()

    def session(self, master=0, **config):
        return tf.Session(self.targets[master], config=tf.ConfigProto(operation_timeout_in_ms=60000, **config))


@pytest.fixture(name="tasks", scope="module", params=[2, 3])
def started_tasks(request):
    tasks = Tasks(request.param)
    yield tasks
    tasks.stop()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def dump(target):
    return subprocess.run([serving.COMMAND, "debug", "dump", target, "--json"], capture_output=True, text=True, timeout=60, check=True).stdout


def each(count, make):
    made = []
    for i in range(count):
        with tf.device(f"/job:worker/task:{i}"):
            made.append(make(i))
    return made


def reduce(value, size, instance=1, merge="Add", final="Id", **more):
    return tf.raw_ops.CollectiveReduce(input=value, group_size=size, group_key=1, instance_key=instance, merge_op=merge, final_op=final,
                                       subdiv_offsets=[0], **more)


@pytest.mark.parametrize("master", [0, 1])
@pytest.mark.parametrize("merge, final", [("Add", "Id"), ("Add", "Div"), ("Max", "Id")])
def test_a_reduction_has_the_bits_of_one_process(tasks, master, merge, final):
    count = len(tasks.targets)
    values = np.random.RandomState(0).standard_normal([count, 1000]).astype(np.float32) * 100
    fed = [tf.placeholder(tf.float32, [1000]) for _ in range(count)]
    made = each(count, lambda i: reduce(fed[i] + 0.0, count, merge=merge, final=final))
    with tasks.session(master) as session:
        runs = [session.run(made, dict(zip(fed, values))) for _ in range(5)]
        traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        runs.append(session.run(made, dict(zip(fed, values)), options=traced, run_metadata=tf.RunMetadata()))
        partial = session.partial_run_setup(made, fed)  # by calls, not through channels
        runs.append(session.partial_run(partial, made, dict(zip(fed, values))))
    with tf.Graph().as_default():
        here = []
        for i in range(count):
            with tf.device(f"/cpu:{i}"):
                here.append(reduce(tf.constant(values[i]) + 0.0, count, merge=merge, final=final))
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": count})) as session:
            expected = session.run(here)[0]
    assert {result.tobytes() for run in runs for result in run} == {expected.tobytes()}


def test_the_other_kinds(tasks):
    count = len(tasks.targets)
    gathered = each(count, lambda i: tf.raw_ops.CollectiveGather(input=tf.constant([[i, i]]), group_size=count, group_key=1, instance_key=2,
                                                                  shape=[count, 2]))
    keys = dict(group_size=count, group_key=1, instance_key=3, shape=[2])
    told = each(count, lambda i: tf.raw_ops.CollectiveBcastRecv(T=tf.float32, **keys) if i else tf.raw_ops.CollectiveBcastSend(
        input=tf.constant([1.5, 2.5]), **keys))
    by_input = each(count, lambda i: tf.raw_ops.CollectiveReduceV2(input=tf.constant([1.0 + i]), group_size=count, group_key=1,
                                                                    instance_key=tf.placeholder_with_default(4, []), ordering_token=[],
                                                                    merge_op="Mul", final_op="Id"))
    with tasks.session() as session:
        for result in session.run(gathered):
            assert result.tolist() == [[i, i] for i in range(count)]
        for result in session.run(told):
            assert result.tolist() == [1.5, 2.5]
        for result in session.run(by_input):
            assert result.tolist() == [np.prod(np.arange(count) + 1.0)]


def test_in_a_loop_and_in_many_steps_at_once(tasks):
    count = len(tasks.targets)

    def body(step, *values):
        return (step + 1, *each(count, lambda i: reduce(values[i], count, instance=5)))

    results = tf.while_loop(lambda step, *_: step < 4, body, (0, *each(count, lambda i: tf.constant([1.0 + i]))))[1:]
    errors = []

    def steps(session):
        try:
            for _ in range(5):
                assert [r.tolist() for r in session.run(results)] == [[sum(range(1, count + 1)) * float(count)**3]] * count
        except Exception as e:  # pylint: disable=broad-except
            errors.append(e)

    with tasks.session() as first, tasks.session(1) as second:
        threads = [threading.Thread(target=steps, args=(s,)) for s in (first, second, first)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
    assert not errors


def test_errors_reach_every_member(tasks):
    count = len(tasks.targets)
    shapes = each(count, lambda i: reduce(tf.zeros([2 + i]), count, instance=6))
    merges = each(count, lambda i: reduce(tf.zeros([2]), count, instance=7, merge="Max" if i else "Add"))
    good = each(count, lambda i: reduce(tf.constant([1.0]), count, instance=8))
    with tasks.session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Shape mismatch"):
            session.run(shapes)
        with pytest.raises(tf.errors.InvalidArgumentError, match="merge"):
            session.run(merges)
        with pytest.raises(tf.errors.UnimplementedError, match="members in steps of other sessions"):
            session.run(good[1])
        assert [r.tolist() for r in session.run(good)] == [[float(count)]] * count


def test_a_member_that_does_not_come(tasks):
    count = len(tasks.targets)
    with tf.device("/job:worker/task:1"):
        queue = tf.FIFOQueue(1, tf.float32, shapes=[()], shared_name=f"never_{count}")
        late = queue.dequeue()

    def members(instance, **more):
        return each(count, lambda i: reduce(late if i == 1 else tf.constant(1.0), count, instance=instance, **more))

    hurried, patient = members(9, timeout_seconds=0.1), members(10)
    with tasks.session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match=f"{count - 1} of {count} members are here"):
            session.run(hurried)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(patient, options=tf.RunOptions(timeout_in_ms=300))
        with tf.device("/job:worker/task:1"):
            put = queue.enqueue(3.0)
        session.run(put)
        assert session.run(patient) == [3.0 + count - 1] * count


@pytest.mark.parametrize("leader", [0, 1, 2])
def test_a_killed_member_frees_the_others_with_its_name(leader):
    tasks = Tasks(3)
    try:
        with tf.device("/job:worker/task:1"):
            queue = tf.FIFOQueue(1, tf.float32, shapes=[()])
            late = queue.dequeue()
        made = each(3, lambda i: reduce(late if i == 1 else tf.constant(1.0), 3))
        errors = []

        def step():
            try:
                session.run(made)
            except tf.errors.OpError as e:
                errors.append(e)

        experimental = tf.ConfigProto.Experimental(collective_group_leader=f"/job:worker/task:{leader}")
        with tasks.session(experimental=experimental) as session:
            with tf.device("/job:worker/task:1"):
                put = queue.enqueue(1.0)
            session.run(put)
            assert session.run(made) == [3.0] * 3
            waiting = threading.Thread(target=step)
            waiting.start()
            assert serving.wait_for(lambda: "group 1, instance 1" in dump(tasks.targets[0]))
            os.kill(tasks.processes[2].pid, signal.SIGKILL)
            waiting.join(60)
            assert not waiting.is_alive()
        assert isinstance(errors[0], tf.errors.UnavailableError), errors[0]
        assert "/job:worker/replica:0/task:2" in str(errors[0])
        tasks.processes[2].wait(60)
        tasks.processes[2].stdout.close()
        tasks.processes[2] = tasks.start(2)
        serving.ready(tasks.processes[2])
        with tasks.session(experimental=experimental) as session:  # the same group, the same instance
            for _ in range(2):
                session.run(put)
                assert session.run(made) == [3.0] * 3
    finally:
        tasks.stop()


def test_a_leader_that_is_none(tasks):
    made = each(2, lambda i: reduce(tf.constant(1.0), 2, instance=11))
    for leader, error in (("/job:ps/task:0", "none of the cluster's tasks"), ("/job:worker", "must name a task")):
        experimental = tf.ConfigProto.Experimental(collective_group_leader=leader)
        with tasks.session(experimental=experimental) as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match=error):
                session.run(made)


class BetweenGraphs:
    """A program each for several tasks: its own graph, session and master; they join in collective operations alone."""

    def __init__(self, tasks, key=3, **config):
        self.tasks, self.key, self.config = tasks, key, config

    def run(self, make, steps=1, timeout_ms=60000, count=None):
        """What each program's run() gave, by program: a list of its steps' results, or its error."""
        results = {}

        def program(i):
            with tf.Graph().as_default(), tf.device(f"/job:worker/task:{i}"):
                made = make(i)
                with self.tasks.session(i, **self.config) as session:
                    options = tf.RunOptions(timeout_in_ms=timeout_ms,
                                            experimental=tf.RunOptions.Experimental(collective_graph_key=self.key))
                    try:
                        results[i] = [session.run(made, options=options) for _ in range(steps)]
                    except tf.errors.OpError as error:
                        results[i] = error

        threads = [threading.Thread(target=program, args=(i,)) for i in range(len(self.tasks.targets) if count is None else count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
        assert len(results) == len(threads)
        return results


def test_members_in_sessions_of_their_own(tasks):
    count = len(tasks.targets)

    def make(i):
        step = tf.Variable(0.0)
        with tf.control_dependencies([step.initializer]):
            value = tf.fill([100], float(i + 1))
        total = reduce(value, count, instance=21)
        # Each step goes on where the other's results are.
        return reduce(total * 2.0 + float(i), count, instance=22, merge="Max")

    expected = 2.0 * count * (count + 1) / 2 + count - 1
    for _ in range(2):  # new sessions of the same key
        for results in BetweenGraphs(tasks).run(make, steps=10).values():
            assert not isinstance(results, Exception), results
            for result in results:
                np.testing.assert_array_equal(result, np.full(100, expected, np.float32))


def test_sessions_that_see_no_other_task(tasks):
    """As workers do that must outlive each other: they name the leader of all."""
    count = len(tasks.targets)
    make = lambda i: reduce(tf.constant([float(i)]), count, instance=23)
    leader = tf.ConfigProto.Experimental(collective_group_leader="/job:worker/replica:0/task:0")

    class Alone(Tasks):
        def __init__(self):
            self.targets = tasks.targets

        def session(self, master=0, **config):
            return tasks.session(master, device_filters=[f"/job:worker/task:{master}"], **config)

    for result in BetweenGraphs(Alone(), key=4, experimental=leader).run(make, steps=3).values():
        assert not isinstance(result, Exception), result
        assert result == [[sum(range(count))]] * 3
    unnamed = BetweenGraphs(Alone(), key=5).run(make)
    assert any(isinstance(error, tf.errors.FailedPreconditionError) and "collective_group_leader" in str(error)
               for error in unnamed.values()), unnamed


def test_a_member_whose_session_does_not_come(tasks):
    count = len(tasks.targets)
    make = lambda i: reduce(tf.constant(1.0), count, instance=24)
    together = BetweenGraphs(tasks, key=6)
    error = together.run(make, timeout_ms=1500, count=1)[0]
    assert isinstance(error, tf.errors.DeadlineExceededError), error
    # The next step of all is one again.
    for results in together.run(make, steps=2).values():
        assert results == [float(count)] * 2, results


def test_sessions_that_name_a_leader_need_no_key(tasks):
    """Steps that have the same collective operations are one, whatever else their graphs compute; others are not disturbed by them."""
    count = len(tasks.targets)

    def make(i):
        value = tf.constant([float(i)])
        for _ in range(i):
            value = tf.identity(value) + 0.0
        total = reduce(value, count, instance=26)
        return [total, reduce(total + 1.0, count, instance=27)] + ([tf.reduce_sum(total)] if i == 0 else [])

    leader = tf.ConfigProto.Experimental(collective_group_leader="/job:worker/replica:0/task:0")
    total = float(sum(range(count)))
    for results in BetweenGraphs(tasks, key=0, experimental=leader).run(make, steps=4).values():
        assert not isinstance(results, Exception), results
        for result in results:
            assert [value.tolist() for value in result[:2]] == [[total], [(total + 1.0) * count]]
    # An instance key less is another step, whose members do not come.
    missed = BetweenGraphs(tasks, key=0, experimental=leader).run(lambda i: make(i)[:1 if i == 0 else 2], timeout_ms=1500)
    assert all(isinstance(error, tf.errors.OpError) for error in missed.values()), missed


def test_without_a_key_the_members_are_missed(tasks):
    with tf.device("/job:worker/task:0"):
        alone = reduce(tf.constant(1.0), 2, instance=25)
    with tasks.session() as session:
        with pytest.raises(tf.errors.UnimplementedError, match="collective_graph_key"):
            session.run(alone)
