# SPDX-License-Identifier: Apache-2.0
"""What a server tells in numbers: `thalweg top` over clusters of processes, and GET /metrics as Prometheus asks it."""
import contextlib
import json
import os
import pty
import select
import signal
import socket
import subprocess
import termios
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
import serving
import thalweg as tf
from two_tasks import two_tasks

CALLS = ("--max-message-bytes", str(1 << 30))  # where messages have a limit, there are no channels


def top(*args):
    return subprocess.run([serving.COMMAND, "top", "--timeout", "20", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False)


def once(*args):
    """The rows of one table by task, and its text."""
    done = top("--once", "--json", "--interval", "0.1", *args)
    assert done.returncode == 0, done.stderr
    return {row["task"]: row for row in json.loads(done.stdout)["tasks"]}


def graph_of_two_tasks():
    """A value that goes from the ps to the worker, and one that never comes."""
    with tf.device("/job:ps"):
        big = tf.Variable(np.ones([1000], np.float32))
        queue = tf.FIFOQueue(1, [tf.float32])
        taken = queue.dequeue()
    with tf.device("/job:worker"):
        total = tf.reduce_sum(big * 2.0)
        late = taken + 1.0
    return total, late, queue.enqueue(1.0), tf.global_variables_initializer()


@pytest.mark.parametrize("by_calls", [False, True])
def test_numbers_of_two_tasks(by_calls):
    with two_tasks(*(CALLS if by_calls else ())) as cluster, tf.Graph().as_default():
        total, late, put, init = graph_of_two_tasks()
        with tf.Session(cluster.target) as session:
            session.run(init)
            before = once(cluster.target)
            for _ in range(5):
                assert session.run(total) == 2000
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(late, options=tf.RunOptions(timeout_in_ms=200))
            waiting = threading.Thread(target=lambda: session.run(late))
            waiting.start()
            try:
                master, ps = "/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"

                def shows_the_wait():
                    rows = once(cluster.target)
                    told = [rows[task]["told"]["oldest_step"] for task in (master, ps)]
                    return rows if all(step and step["waits"] for step in told) and rows[master]["told"]["waiting_values"] else None

                rows = serving.wait_for(shows_the_wait)
                assert rows is not None
                text = top("--once", "grpc://" + cluster.spec["ps"][0]).stdout  # any task knows the others
            finally:
                session.run(put)
                waiting.join(60)
        told = {task: [rows[task]["told"] for rows in (before, rows)] for task in (master, ps)}

        def rise(task, *names):
            values = [told[task][i] for i in range(2)]
            for name in names:
                values = [value[name] for value in values]
            return values[1] - values[0]

        assert rise(master, "steps", "done") == 5 and rise(master, "steps", "failed") == 1
        assert told[master][1]["steps"]["open"] == 1 and told[master][1]["steps"]["oldest_seconds"] > 0
        assert rise(ps, "parts", "done") == 5 and rise(ps, "parts", "failed") == 1 and told[ps][1]["parts"]["open"] == 1
        assert told[ps][1]["steps"]["done"] == 0 and told[master][1]["sessions"] == 1 and told[ps][1]["graphs"] >= 2
        way = ("call_sent_bytes", "call_received_bytes") if by_calls else ("channel_sent_bytes", "channel_received_bytes")
        assert rise(ps, way[0]) >= 5 * 4000 and rise(master, way[1]) >= 5 * 4000
        assert told[ps][1]["tensor_bytes"] >= 4000 and told[ps][1]["pid"] == cluster.processes["ps"].pid
        assert "QueueDequeueV2" in str(told[ps][1]["oldest_step"]["waits"])
        assert "/job:ps/task:0" in text and "/job:worker/task:0" in text


def test_steps_of_one_task_alone():
    server = serving.serve({"solo": ["127.0.0.1:0"]}, "solo")
    try:
        target = serving.ready(server)
        with tf.Graph().as_default():
            queue = tf.FIFOQueue(1, [tf.float32])
            taken, size = queue.dequeue(), queue.size()
            with tf.Session(target) as session:
                call = session.make_callable(size)
                assert [call() for _ in range(3)] == [0] * 3
                waiting = threading.Thread(target=lambda: session.run(taken))
                waiting.start()
                try:
                    def waits():
                        told = once(target)["/job:solo/replica:0/task:0"]["told"]
                        return told if told["oldest_step"] and told["oldest_step"]["waits"] else None

                    told = serving.wait_for(waits)
                    assert told is not None and "QueueDequeueV2" in told["oldest_step"]["waits"][0]
                    assert told["steps"]["done"] == 3 and told["steps"]["open"] == 1 and told["waiting_nodes"] == 1
                finally:
                    session.run(queue.enqueue(1.0))
                    waiting.join(60)
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0


class Lines:
    """What a `top` writes to a pipe, a report a line."""

    def __init__(self, *args):
        self.process = subprocess.Popen([serving.COMMAND, "top", "--json", "--interval", "0.1", "--timeout", "5", *args], stdout=subprocess.PIPE, text=True)

    def await_rows(self, holds):
        rows = None
        for _ in range(600):
            readable, _, _ = select.select([self.process.stdout], [], [], 60)
            assert readable, "top has stopped writing"
            rows = {row["task"]: row for row in json.loads(self.process.stdout.readline())["tasks"]}
            if holds(rows):
                return rows
        raise AssertionError(rows)

    def close(self):
        self.process.kill()
        self.process.communicate()


def test_a_task_that_dies_is_a_row_until_it_is_back():
    ps, worker = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
    with two_tasks() as cluster, contextlib.closing(Lines(cluster.target)) as lines:
        lines.await_rows(lambda rows: rows[ps]["state"] == "up" and "steps_per_second" in rows[ps])
        cluster.kill("ps")
        rows = lines.await_rows(lambda rows: rows[ps]["state"] == "gone" and rows[ps]["gone_seconds"] > 0.2)
        assert rows[worker]["state"] == "up" and cluster.spec["ps"][0] in rows[ps]["error"] and "steps_per_second" not in rows[ps]
        cluster.start("ps")
        rows = lines.await_rows(lambda rows: rows[ps]["state"] == "up" and "steps_per_second" in rows[ps])
        assert rows[ps]["told"]["pid"] == cluster.processes["ps"].pid
        # One that stands answers no more, and holds up nobody for longer than its time.
        os.kill(cluster.processes["ps"].pid, signal.SIGSTOP)
        lines.await_rows(lambda rows: rows[ps]["state"] == "gone" and rows[worker]["state"] == "up")
        os.kill(cluster.processes["ps"].pid, signal.SIGCONT)
        lines.process.send_signal(signal.SIGINT)
        assert lines.process.wait(60) == 0


def test_what_is_asked_wrongly():
    assert top("--once", "grpc://127.0.0.1:1").returncode == 1
    nowhere = top("--once", "nowhere")
    assert nowhere.returncode == 1 and "expected grpc://HOST:PORT or a cluster" in nowhere.stderr
    assert top("--once", '{"ps": 3}').returncode == 1
    for key in ("x", "1x", "-1", "", "99999999999999999999"):
        wrong = top("--once", json.dumps({"ps": {key: "127.0.0.1:1"}}))
        assert wrong.returncode == 1 and f"job 'ps' of the cluster: expected the number of a task, got '{key}'" in wrong.stderr, wrong.stderr
    assert top("--once").returncode == 2
    assert top("--interval", "0", "grpc://127.0.0.1:1").returncode == 2


def test_a_cluster_is_a_target():
    with two_tasks() as cluster:
        rows = once(json.dumps(cluster.spec))
        assert [row["state"] for row in rows.values()] == ["up", "up"]


@pytest.mark.parametrize("end", [b"q", b"\x03", signal.SIGTERM])
def test_on_a_terminal(end):
    with two_tasks() as cluster:
        ours, theirs = pty.openpty()
        before = termios.tcgetattr(theirs)
        process = subprocess.Popen([serving.COMMAND, "top", cluster.target], stdin=theirs, stdout=theirs, stderr=theirs)
        seen = b""

        def read_until(text):
            nonlocal seen
            while text not in seen:
                readable, _, _ = select.select([ours], [], [], 60)
                assert readable, seen
                seen += os.read(ours, 65536)

        try:
            read_until(b"\x1b[?1049h")
            read_until(b"/job:ps/task:0")
            assert termios.tcgetattr(theirs)[3] & (termios.ICANON | termios.ECHO) == 0
            if isinstance(end, bytes):
                os.write(ours, end)
            else:
                process.send_signal(end)
            read_until(b"\x1b[?25h\x1b[?1049l")
            assert process.wait(60) == 0
            assert termios.tcgetattr(theirs) == before
        finally:
            process.kill()
            process.wait(60)
            os.close(ours)
            os.close(theirs)


def test_prometheus_reads_numbers():
    server = serving.serve({"solo": ["127.0.0.1:0"]}, "solo", 0, "--metrics", "0")
    try:
        line = server.stdout.readline().split()
        assert line[0] == "ready" and line[2] == "metrics" and line[3].startswith("http://127.0.0.1:"), line
        with tf.Graph().as_default(), tf.Session(line[1]) as session:
            session.run(tf.constant(1.0) + 1.0)
        with urllib.request.urlopen(line[3], timeout=60) as page:
            assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            text = page.read().decode()
        numbers = dict(sample.rsplit(" ", 1) for sample in text.splitlines() if not sample.startswith("#"))
        assert float(numbers['thalweg_steps_total{result="done"}']) == 1 and float(numbers["thalweg_step_seconds_count"]) == 1
        assert numbers['thalweg_task_info{task="/job:solo/replica:0/task:0"}'] == "1" and float(numbers["thalweg_uptime_seconds"]) > 0
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(line[3][: -len("/metrics")], timeout=60)
        assert raised.value.code == 404
        silent = socket.create_connection(("127.0.0.1", int(line[3].split(":")[2].split("/")[0])), 60)
        server.send_signal(signal.SIGTERM)  # does not wait for who says nothing
        assert server.wait(60) == 0
        silent.close()
    finally:
        server.kill()
        server.communicate()


def test_metrics_of_a_server_in_this_process():
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected PORT or HOST:PORT for metrics"):
        tf.train.Server({"a": ["127.0.0.1:0"]}, metrics="http://x")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(tf.errors.UnavailableError, match=f"metrics \\(--metrics\\) at '{port}': cannot listen at 127.0.0.1:{port}"):
            tf.train.Server({"a": ["127.0.0.1:0"]}, metrics=str(port))
    with pytest.raises(tf.errors.UnavailableError, match=r"metrics \(--metrics\) at 'no host:1': the address of the host 'no host'"):
        tf.train.Server({"a": ["127.0.0.1:0"]}, metrics="no host:1")
    server = tf.train.Server({"a": ["127.0.0.1:0"]}, metrics=f"localhost:{port}")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
            assert b"thalweg_steps_total" in page.read()
    finally:
        server.stop()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60)
