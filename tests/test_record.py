# SPDX-License-Identifier: Apache-2.0
"""Steps that a cluster runs for its clients, recorded from outside (users J1): `thalweg trace record` and tw.debugging.record."""
import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest
import serving
import thalweg as tf
from two_tasks import two_tasks

CALLS = ("--max-message-bytes", str(1 << 30))  # where messages have a limit, there are no channels
TASKS = {"/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"}


@pytest.fixture(name="cluster", scope="module", params=[False, True], ids=["through_channels", "by_calls"])
def shared_cluster(request):
    with two_tasks(*(CALLS if request.param else ())) as tasks:
        yield tasks


@pytest.fixture(autouse=True)
def interruptible():
    """Python's own handler, for commands too: jobs that a shell starts in the background begin with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Program:
    """A graph over both tasks, and a thread that runs steps of it until it is told to end."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            with tf.device("/job:ps"):
                self.fed = tf.placeholder_with_default(1.0, [], name="fed")
                self.queue = tf.FIFOQueue(1, [tf.float32])
                self.take = tf.add(self.queue.dequeue(), 1.0, name="take")
                begun = tf.add(self.fed, 1.0, name="begun")
                self.size = self.queue.size(name="size")
                with tf.control_dependencies([begun]):
                    checked = tf.check_numerics(tf.log(begun), "no logarithm", name="checked")
            with tf.device("/job:worker"):
                self.total = tf.add(checked, 2.0, name="total")
                self.mine = tf.identity(self.fed, name="mine")
            self.put = self.queue.enqueue(5.0)

    @contextlib.contextmanager
    def running(self, target, steps):
        """`steps(session)` again and again meanwhile; what they gave at last."""
        over, given = threading.Event(), []

        def run():
            with tf.Session(target, graph=self.graph) as session:
                while not over.is_set():
                    given.append(steps(session))

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield given
        finally:
            over.set()
            thread.join(60)
            assert not thread.is_alive()


def record(*args, check=True):
    done = subprocess.run([serving.COMMAND, "trace", "record", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    if check:
        assert done.returncode == 0, done.stderr
    return done


def read(path):
    metadata = tf.RunMetadata()
    with open(path, "rb") as file:
        metadata.ParseFromString(file.read())
    return metadata


def nodes_by_task(metadata):
    nodes = {}
    for device in metadata.step_stats.dev_stats:
        nodes.setdefault(device.device.partition("/device:")[0], set()).update(node.node_name for node in device.node_stats)
    return nodes


def names(metadata):
    """Of what ran, without what the runtime makes."""
    return {name.split("/")[0] for nodes in nodes_by_task(metadata).values() for name in nodes}


def test_the_next_steps_of_two_tasks(cluster, tmp_path):
    program = Program()
    out = tmp_path / "step.pb"
    with program.running(cluster.target, lambda s: float(s.run(program.total))) as given:
        done = record(cluster.target, "--steps", "2", "-o", str(out), "--view")
    assert given == pytest.approx([0.6931472 + 2.0] * len(given))
    assert sorted(os.listdir(tmp_path)) == ["step-1.pb", "step-2.pb", "step.html"]
    for number in (1, 2):
        metadata = read(tmp_path / f"step-{number}.pb")
        assert nodes_by_task(metadata).keys() >= TASKS
        assert {"checked", "total"} <= names(metadata)
        graphs = metadata.partition_graphs
        assert {"checked", "total"} <= {node.name for graph in graphs for node in graph.node}
    assert "recording the next 2 steps of " + cluster.target in done.stderr
    first, second = done.stdout.splitlines()[:2]
    said = re.compile(r".*step-\d\.pb: [\d.]+ kB, step -?\d+ of session [0-9a-f]{16}, [\d.]+ [mu]?s$")
    assert said.match(first) and said.match(second) and "2 steps:" in done.stdout
    assert "stalls" in done.stdout or "no stalls found" in done.stdout
    summary = json.loads(subprocess.run([serving.COMMAND, "trace", "summary", "--json", str(tmp_path / "step-1.pb")], stdout=subprocess.PIPE,
                                        timeout=120, check=True).stdout)
    assert {task["task"] for task in summary["tasks"]} == TASKS


def test_a_step_as_a_compact_file(cluster, tmp_path):
    program = Program()
    with program.running(cluster.target, lambda s: float(s.run(program.total))):
        done = record(cluster.target, "-o", str(tmp_path / "step.trace"), "--view")
    assert "step.trace: " in done.stdout and ("stalls" in done.stdout or "no stalls found" in done.stdout)
    subprocess.run([serving.COMMAND, "trace", "convert", str(tmp_path / "step.trace")], timeout=120, check=True)
    assert sorted(os.listdir(tmp_path)) == ["step.html", "step.pb", "step.trace"]
    assert nodes_by_task(read(tmp_path / "step.pb")).keys() >= TASKS
    assert (tmp_path / "step.trace").stat().st_size < (tmp_path / "step.pb").stat().st_size / 2


def test_what_a_client_asks_for_is_as_it_would_be(cluster):
    program = Program()
    kinds = [tf.RunOptions(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunOptions(output_partition_graphs=True)]

    def steps(session):
        told = [tf.RunMetadata() for _ in kinds]
        for options, metadata in zip(kinds, told):
            session.run(program.total, options=options, run_metadata=metadata)
        return [(bool(m.step_stats.dev_stats), bool(m.partition_graphs)) for m in told]

    with program.running(cluster.target, steps) as given:
        recording = tf.debugging.record(cluster.target, steps=9)
    assert len(recording.steps) == 9 and recording.seen == 9 and recording.open == 0
    assert all(step.error is None and not step.silent and step.metadata.partition_graphs for step in recording.steps)
    assert all(nodes_by_task(step.metadata).keys() >= TASKS for step in recording.steps)
    assert {tuple(kinds_of) for kinds_of in given} == {((False, False), (True, False), (False, True))}


def test_a_step_that_fails_has_what_was_seen_until_then(cluster, tmp_path):
    program = Program()
    out = tmp_path / "failed.pb"

    def steps(session):
        assert session.run(program.total) > 0
        with pytest.raises(tf.errors.InvalidArgumentError, match="no logarithm") as raised:
            session.run(program.total, {program.fed: -3.0})
        return str(raised.value)

    with program.running(cluster.target, steps) as given:
        done = record(cluster.target, "--failing", "-o", str(out))
    assert "failed: INVALID_ARGUMENT: " in done.stdout and "no logarithm" in done.stdout
    assert all("no logarithm" in words for words in given)
    metadata = read(out)
    ran = nodes_by_task(metadata)
    assert {"begun", "checked"} <= ran["/job:ps/replica:0/task:0"], "not the node that failed, nor what ran before it"
    assert "total" not in names(metadata)
    assert "nothing is known of" not in done.stdout, "each task has told its part"
    assert {"checked", "total"} <= {node.name for graph in metadata.partition_graphs for node in graph.node}


@pytest.mark.parametrize("channels", ["memory", "sockets", "tcp"])
def test_answers_that_overtake_what_is_told(channels, tmp_path):
    """As between machines: a trace of some hundred kB goes beside the answers, which are small."""
    out = str(tmp_path / "loop.pb")
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/job:ps"):
            fed = tf.placeholder_with_default(1.0, [])
            trips = tf.while_loop(lambda i: i < 2000.0, lambda i: i + 1.0, [tf.zeros([])], name="loop")
            with tf.control_dependencies([trips]):
                checked = tf.check_numerics(tf.log(fed), "no logarithm", name="checked")
        with tf.device("/job:worker"):
            total = tf.add(checked, trips, name="total")
    fails = False

    def step(session):
        if not fails:
            return session.run(total)
        with pytest.raises(tf.errors.InvalidArgumentError, match="no logarithm"):
            session.run(total, {fed: -3.0})

    program = Program()
    program.graph = graph
    with two_tasks("--channels", channels) as tasks:
        for fails in (False, True):
            with program.running(tasks.target, step):
                done = record(tasks.target, "-o", out, "--force", *(["--failing"] if fails else []))
            assert "nothing is known of" not in done.stdout
            ran = nodes_by_task(read(out))
            assert "loop" in {name.split("/")[0] for name in ran["/job:ps/replica:0/task:0"]}, ran.keys()
            assert "checked" in ran["/job:ps/replica:0/task:0"]


def test_a_step_that_is_slow(cluster):
    """It waits for a queue for three seconds, others for nothing."""
    program = Program()
    with program.running(cluster.target, lambda s: s.run(program.mine)) as given, tf.Session(cluster.target, graph=program.graph) as session:
        waiting = {}
        recorder = threading.Thread(target=lambda: waiting.update(got=tf.debugging.record(cluster.target, slower_than=2.5, timeout=100)))
        recorder.start()
        assert serving.wait_for(lambda: recording_calls(cluster.target))
        before = len(given)
        slow = threading.Thread(target=lambda: session.run(program.take))
        begin = time.monotonic()
        slow.start()
        assert serving.wait_for(lambda: time.monotonic() > begin + 3)
        session.run(program.put)
        for thread in (slow, recorder):
            thread.join(100)
    (step,) = waiting["got"].steps
    assert "take" in names(step.metadata) and step.seconds > 2.5 and step.error is None
    assert waiting["got"].seen > 1 and len(given) > before


def test_steps_with_a_node_or_of_a_session(cluster):
    program = Program()
    with program.running(cluster.target, lambda s: s.run(program.mine)):
        (other,) = tf.debugging.record(cluster.target).steps
        with program.running(cluster.target, lambda s: s.run(program.total)):
            (step,) = tf.debugging.record(cluster.target, node="total").steps
            assert "total" in names(step.metadata) and step.session != other.session
            again = tf.debugging.record(cluster.target, steps=3, session=other.session).steps
            assert {s.session for s in again} == {other.session} and all("total" not in names(s.metadata) for s in again)
        none = record(cluster.target, "--node", "nobody", "--timeout", "300ms", check=False)
        strange = record(cluster.target, "--session", "nosuch", "--timeout", "300ms", check=False)
        slow = record(cluster.target, "--slower-than", "20000h", "--timeout", "300ms", check=False)
    assert none.returncode == 1 and "no step with nobody began at " + cluster.target in none.stderr
    assert strange.returncode == 1 and "no step of session nosuch began at " + cluster.target in strange.stderr
    assert slow.returncode == 1 and "0 steps of 1 recorded" in slow.stderr


def test_what_has_come_until_the_timeout_is_written(cluster, tmp_path):
    program = Program()
    with tf.Session(cluster.target, graph=program.graph) as session:
        waiting = {}
        recorder = threading.Thread(target=lambda: waiting.update(
            done=record(cluster.target, "--steps", "2", "--timeout", "2s", "-o", str(tmp_path / "step.pb"))))
        recorder.start()
        assert serving.wait_for(lambda: recording_calls(cluster.target))
        session.run(program.mine)
        hangs = threading.Thread(target=lambda: session.run(program.take))
        hangs.start()
        recorder.join(100)
        session.run(program.put)
        hangs.join(100)
    assert os.listdir(tmp_path) == ["step-1.pb"]
    assert "1 step of 2 recorded" in waiting["done"].stderr
    assert "2 steps began there, of which 1 had not ended (`thalweg debug dump` says" in waiting["done"].stderr


def test_several_record_at_once(cluster):
    program = Program()
    got = []
    with program.running(cluster.target, lambda s: s.run(program.total)):
        threads = [threading.Thread(target=lambda: got.append(tf.debugging.record(cluster.target, steps=3))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
    assert [len(recording.steps) for recording in got] == [3] * 4


def test_a_trace_that_does_not_fit_is_said(cluster, tmp_path):
    program = Program()
    with program.running(cluster.target, lambda s: s.run(program.total)):
        done = record(cluster.target, "--max-bytes", "1kB", "-o", str(tmp_path / "x.pb"), check=False)
    assert done.returncode == 1 and os.listdir(tmp_path) == []
    assert re.search(r"0 steps of 1 recorded: the next trace has [\d.]+ kB, and 1.0 kB are kept of all \(--max-bytes", done.stderr)


def recording_calls(target):
    """Whether somebody records there now."""
    done = subprocess.run([serving.COMMAND, "debug", "dump", "--json", target], stdout=subprocess.PIPE, timeout=60, check=True)
    return sum(call["method"].endswith("Debug/Record") for call in json.loads(done.stdout)["calls"])


def begins(*args):
    return subprocess.Popen([serving.COMMAND, "trace", "record", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_recording_with_what_it_has(cluster, tmp_path, number):
    program = Program()
    with tf.Session(cluster.target, graph=program.graph) as session:
        recorder = begins(cluster.target, "--steps", "3", "-o", str(tmp_path / "step.pb"))
        assert serving.wait_for(lambda: recording_calls(cluster.target))
        for _ in range(2):
            session.run(program.mine)
        recorder.send_signal(number)
        out, err = recorder.communicate(timeout=60)
    assert recorder.returncode == 0 and sorted(os.listdir(tmp_path)) == ["step-1.pb", "step-2.pb"], err
    assert "2 steps:" in out and "2 steps of 3 recorded: who asked for it has ended it" in err
    recorder = begins(cluster.target, "-o", str(tmp_path / "none.pb"))
    assert serving.wait_for(lambda: recording_calls(cluster.target))
    recorder.send_signal(number)
    _, err = recorder.communicate(timeout=60)
    assert recorder.returncode == 1 and "ended before a step was recorded" in err
    assert sorted(os.listdir(tmp_path)) == ["step-1.pb", "step-2.pb"]


@pytest.mark.parametrize("ignores", [False, True], ids=["", "in_the_background"])
def test_a_second_signal_ends_it_at_once(tmp_path, ignores):
    server = serving.serve({"worker": ["127.0.0.1:0"]}, "worker")
    target = serving.ready(server)
    signal.signal(signal.SIGINT, signal.SIG_IGN if ignores else signal.default_int_handler)  # as jobs of a shell that are in the background
    recorder = begins(target, "-o", str(tmp_path / "step.pb"))
    number = signal.SIGTERM if ignores else signal.SIGINT
    try:
        assert serving.wait_for(lambda: recording_calls(target))
        server.send_signal(signal.SIGSTOP)  # it does not hear of the first
        recorder.send_signal(number)
        for line in recorder.stderr:
            if line.startswith("ending;"):
                break
        recorder.send_signal(signal.SIGINT)
        recorder.send_signal(number)
        assert recorder.wait(60) == -number
    finally:
        for process in (recorder, server):
            process.kill()
            process.communicate()


def test_a_place_that_cannot_be_written_is_said_before_anything_is_recorded(cluster, tmp_path):
    for out, words in [(str(tmp_path / "none" / "x.pb"), "No such file"), ("", "expected the name of a file"), (str(tmp_path), "it is a directory")]:
        done = record(cluster.target, "-o", out, "--force", check=False)
        assert done.returncode == 1 and words in done.stderr and "recording" not in done.stderr
    done = record(cluster.target, "-o", str(tmp_path / "x.html"), "--view", check=False)
    assert done.returncode == 1 and "--view writes its page there" in done.stderr and "recording" not in done.stderr
    assert os.listdir(tmp_path) == []


def test_a_file_that_appears_meanwhile_is_kept(cluster, tmp_path):
    program, out = Program(), tmp_path / "step.pb"
    with tf.Session(cluster.target, graph=program.graph) as session:
        recorder = begins(cluster.target, "-o", str(out))
        assert serving.wait_for(lambda: recording_calls(cluster.target))
        out.write_text("mine")
        session.run(program.mine)
        _, err = recorder.communicate(timeout=60)
    assert recorder.returncode == 0 and out.read_text() == "mine" and "step.pb has appeared meanwhile; the trace is " in err
    assert "mine" in names(read(tmp_path / "step-2.pb"))


def test_a_pipe_is_written_to_and_not_replaced(cluster, tmp_path):
    program, link = Program(), tmp_path / "link"
    os.symlink("/dev/stdout", link)
    with program.running(cluster.target, lambda s: s.run(program.mine)):
        done = subprocess.run([serving.COMMAND, "trace", "record", cluster.target, "-o", str(link), "--force"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60, check=True)
    assert "mine" in names(tf.RunMetadata.FromString(done.stdout)) and link.is_symlink() and os.listdir(tmp_path) == ["link"]
    assert b"of session" in done.stderr


def test_a_server_that_stops_is_said(tmp_path):
    server = serving.serve({"worker": ["127.0.0.1:0"]}, "worker")
    target = serving.ready(server)
    program = tf.Graph()
    with program.as_default():
        y = tf.constant(1.0) + 1.0
    with tf.Session(target, graph=program) as session:
        recorder = begins(target, "--steps", "3", "-o", str(tmp_path / "step.pb"))
        waiting = {}
        beside = threading.Thread(target=lambda: waiting.update(got=tf.debugging.record(target, steps=3)))
        beside.start()
        assert serving.wait_for(lambda: recording_calls(target) == 2)
        session.run(y)
    server.terminate()
    server.communicate(timeout=60)
    _, err = recorder.communicate(timeout=60)
    beside.join(60)
    assert len(waiting["got"].steps) == 1 and waiting["got"].ended_by.endswith(" is stopping")
    assert os.listdir(tmp_path) == ["step-1.pb"] and "1 step of 3 recorded: the server of " in err and " is stopping" in err


def test_what_a_client_says_is_no_command_to_the_terminal(cluster, tmp_path):
    program = Program()
    with program.graph.as_default():
        fails = tf.Assert(tf.less(program.fed, 0.0), [tf.constant(b"\x1b[31mred")])

    def steps(session):
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(fails)

    with program.running(cluster.target, steps):
        done = record(cluster.target, "--failing", "-o", str(tmp_path / "x.pb"))
    assert "red" in done.stdout and "\x1b" not in done.stdout


def test_files_that_are_there_are_kept_and_nothing_is_recorded(cluster, tmp_path):
    (tmp_path / "step-2.pb").write_text("mine")
    done = record(cluster.target, "--steps", "2", "-o", str(tmp_path / "step.pb"), check=False)
    assert done.returncode == 1 and "step-2.pb: the file is there already; --force replaces it" in done.stderr
    assert (tmp_path / "step-2.pb").read_text() == "mine" and "recording" not in done.stderr


@pytest.mark.parametrize("wrong", [["--steps", "0"], ["--slower-than", "5 parsecs"], ["--slower-than", "-1ms"], ["--slower-than", "1e16s"], ["--timeout", "2"], ["--timeout", "25h"], ["--timeout", "0"], ["--max-bytes", "much"], ["--max-bytes", "0"], ["--max-bytes", "2GB"], []])
def test_wrong_usage(wrong):
    assert record(*(["grpc://127.0.0.1:1", *wrong] if wrong else []), check=False).returncode == 2


def test_what_python_refuses():
    for steps in (0, "2", True):
        with pytest.raises(ValueError, match=f"steps must be a whole number, at least 1, got {steps!r}"):
            tf.debugging.record("grpc://127.0.0.1:1", steps=steps)
    with pytest.raises(ValueError, match="slower_than must be 0 or more seconds, got -1"):
        tf.debugging.record("grpc://127.0.0.1:1", slower_than=-1)
    with pytest.raises(ValueError, match="slower_than must be 0 or more seconds, got nan"):
        tf.debugging.record("grpc://127.0.0.1:1", slower_than=float("nan"))
    with pytest.raises(ValueError, match="timeout must be more than 0 seconds, got 0"):
        tf.debugging.record("grpc://127.0.0.1:1", timeout=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected a timeout of up to 24 hours"):
        tf.debugging.record("grpc://127.0.0.1:1", timeout=float("inf"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="'nowhere' is no server: expected grpc://HOST:PORT"):
        tf.debugging.record("nowhere")
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected 1 to 10000 steps to record, got 20000"):
        tf.debugging.record("grpc://127.0.0.1:1", steps=20000)
    with pytest.raises(tf.errors.UnavailableError, match="the steps of grpc://127.0.0.1:1"):
        tf.debugging.record("grpc://127.0.0.1:1", slower_than=float("inf"))


def test_ctrl_c_ends_a_recording_and_the_server_forgets_it():
    server = tf.train.Server.create_local_server()

    def interrupt():
        assert serving.wait_for(lambda: recording_calls(server.target))
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        tf.debugging.record(server.target, timeout=100)
    thread.join(60)
    assert serving.wait_for(lambda: not recording_calls(server.target))
    server.stop()
