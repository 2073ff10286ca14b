# SPDX-License-Identifier: Apache-2.0
"""Steps that go through channels end when a task of theirs is stopped or killed, with its name."""
import json
import os
import signal
import subprocess
import threading

import pytest
import serving
import thalweg as tf
from thalweg.cluster.local_cluster import free_ports

TASKS = [("worker", 0), ("ps", 0), ("worker", 1)]


@pytest.fixture(name="cluster", params=["any", "tcp"])
def three_processes(request):
    """(process, target) of the master, the ps and the second worker, whose channels are of this kind."""
    ports = free_ports(3)
    spec = {"worker": [f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[2]}"], "ps": [f"127.0.0.1:{ports[1]}"]}
    options = ["--threads", "1", "--lost-after", "1", "--channels", request.param]
    processes = [serving.serve(spec, job, task, *options) for job, task in TASKS]
    try:
        yield [(p, serving.ready(p)) for p in processes]
    finally:
        for p in processes:
            p.kill()  # a stopped one, too
            p.wait(60)
            p.stdout.close()


def dump(target):
    shown = subprocess.run([serving.COMMAND, "debug", "dump", target, "--json"], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(shown.stdout)


def await_step(target, node="QueueDequeueV2", how="waiting"):
    """What the server says once a step has the node there that waits, or runs."""
    said = []
    assert serving.wait_for(lambda: said.append(dump(target)) or any(node in text for step in said[-1]["steps"] for text in step[how])), \
        f"{node} is not {how}: {said[-1]}"
    return said[-1]


@pytest.fixture(name="graph")
def queue_graph():
    """(graph, result): a step that waits for a queue of the ps, and whose result is the second worker's."""
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps"):
            queue = tf.FIFOQueue(1, [tf.float32], shapes=[()])
            taken = queue.dequeue()
        with tf.device("/job:worker/task:1"):
            return graph, -taken


def error_of_step(cluster, graph, fault):
    """What the step says that waits through channels when `fault` comes."""
    errors = []

    def step():
        try:
            session.run(graph[1])
        except tf.errors.OpError as e:
            errors.append(e)

    with tf.Session(cluster[0][1], graph=graph[0], config=tf.ConfigProto(operation_timeout_in_ms=60000)) as session:
        waiting = threading.Thread(target=step)
        waiting.start()
        said = await_step(cluster[1][1])
        assert not [c for c in said["calls"] if c["method"].endswith("RunGraph")], "the step goes by calls"
        fault()
        waiting.join(30)
        assert not waiting.is_alive()
    assert isinstance(errors[0], tf.errors.UnavailableError), errors[0]
    return errors[0].message


@pytest.mark.parametrize("lost", [0, 1, 2], ids=["master", "ps", "worker"])
@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_a_step_through_channels_ends_with_its_task(cluster, graph, lost, how):
    message = error_of_step(cluster, graph, lambda: os.kill(cluster[lost][0].pid, how))
    name = cluster[0][1][len("grpc://"):] if lost == 0 else f"/job:{TASKS[lost][0]}/replica:0/task:{TASKS[lost][1]}"
    assert name in message


def test_a_master_that_was_away_says_so(cluster, graph):
    """Its tasks have given it up, its client has not yet: the client hears the same as from a master that stays away."""

    def goes_on_once_it_is_given_up():
        os.kill(cluster[0][0].pid, signal.SIGSTOP)
        assert serving.wait_for(lambda: not dump(cluster[1][1])["steps"]), "the ps keeps the step of a lost master"
        os.kill(cluster[0][0].pid, signal.SIGCONT)

    message = error_of_step(cluster, graph, goes_on_once_it_is_given_up)
    assert cluster[0][1][len("grpc://"):] in message


def test_a_dump_names_the_nodes_that_compute(cluster):
    """Users A3: who computes while everybody else waits."""
    with tf.Graph().as_default() as graph, tf.device("/job:ps"):
        ended = tf.get_variable("ended", initializer=False, use_resource=True)
        end = ended.assign(True)
        loop = tf.while_loop(lambda x: tf.logical_not(ended.read_value()), lambda x: tf.matmul(x, x), [tf.eye(300)])
        result = tf.reduce_sum(loop)
    with tf.Session(cluster[0][1], graph=graph) as session:
        session.run(ended.initializer)
        values = []
        waiting = threading.Thread(target=lambda: values.append(session.run(result)))
        waiting.start()
        await_step(cluster[1][1], "MatMul 'while/", "running")
        session.run(end)
        waiting.join(60)
    assert values == [300.0]
