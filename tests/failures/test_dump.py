# SPDX-License-Identifier: Apache-2.0
"""What a server says of itself while a step is stuck (users A3), and when it gives the step up (A2)."""
import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest
import thalweg as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults
import steps
import waiting


def command(*args):
    return subprocess.run([faults.COMMAND, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30, check=False)


@pytest.fixture(name="one_machine", params=[False, True], ids=["by_calls", "through_channels"])
def where(request):
    return request.param


def begin(**options):
    cluster = faults.Cluster(**options)
    steps.State(cluster).begin()
    return cluster


def test_a_stuck_step_is_shown_by_command_and_by_signal(one_machine):
    cluster = begin(by_calls=not one_machine)
    try:
        client = steps.Client(cluster.target, "ps")
        client.open()
        running = waiting.Later(client.run, "taken")
        assert waiting.wait_for(lambda: "QueueDequeue" in str(cluster.dump("ps")) and cluster.is_heard("ps"), 30)
        target = "grpc://" + cluster.network.here("ps")
        text = command("debug", "dump", target)
        assert text.returncode == 0, text.stderr
        assert "waits: QueueDequeueV2" in text.stdout and "for queue" in text.stdout
        assert ("call /tensorflow.WorkerService/RunGraph" in text.stdout) != one_machine
        assert "task: master /job:worker" in text.stdout
        master = command("debug", "dump", cluster.target).stdout
        assert one_machine == ("asked for: the end of its part of /job:ps/replica:0/task:0" in master), master
        told = json.loads(command("debug", "dump", "--json", target).stdout)
        assert told["task"] == "/job:ps/replica:0/task:0" and told["pid"] == cluster.processes["ps"].pid
        cluster.processes["ps"].send_signal(signal.SIGUSR1)
        assert waiting.wait_for(lambda: "/job:ps/replica:0/task:0, process " in cluster.said("ps"), 30), cluster.said("ps")
        assert cluster.processes["ps"].poll() is None
        client.run("put")
        assert running.result(60) == 1.0
        client.close()
    finally:
        cluster.close()
    gone = command("debug", "dump", "--timeout", "2", target)
    assert gone.returncode == 1 and "the dump of grpc://" in gone.stderr
    assert command("debug", "dump", "nowhere").returncode == 1
    assert command("debug").returncode == 2


@contextlib.contextmanager
def given_up(timeout_ms=60000, **options):
    """A step of a client that waits for ever: the cluster, the client and what the step says as it is given up."""
    cluster = begin(**options)
    try:
        client = steps.Client(cluster.target, "worker")
        client.open()
        with pytest.raises(tf.errors.DeadlineExceededError) as raised:
            client.run("taken", timeout_ms)
        assert "/job:worker/replica:0/task:1: waiting: QueueDequeueV2" in str(raised.value)
        yield client, str(raised.value)
        client.close()
    finally:
        cluster.close()


def test_a_stuck_step_is_given_up_and_says_who_waits(one_machine):
    with given_up(stuck_after=1, by_calls=not one_machine) as (client, words):
        assert "the step is stuck" in words
        client.run("put")
        assert client.run("taken") == 1.0  # the session is as good as before


def test_a_deadline_says_who_waits(one_machine):
    """Users A1: task by task, for which queue."""
    with given_up(700, by_calls=not one_machine) as (_, words):
        assert "the step did not end within 700 ms" in words


def test_a_killed_task_is_told_from_a_lost_one(one_machine):
    """Users A11: what was known of it last: the process, its memory, its step."""
    cluster = begin(by_calls=not one_machine)
    try:
        client = steps.Client(cluster.target, "ps")
        client.open()
        running = waiting.Later(client.run, "taken")
        assert waiting.wait_for(lambda: cluster.is_heard("ps"), 30)
        cluster.kill("ps")
        with pytest.raises(tf.errors.UnavailableError) as raised:
            running.result(60)
        for words in ("/job:ps/replica:0/task:0", f"process {cluster.processes['ps'].pid} has ended", "last heartbeat", "MB resident, peak"):
            assert words in str(raised.value)
    finally:
        cluster.close()
