# SPDX-License-Identifier: Apache-2.0
"""Plays rows of the matrix: brings a cluster to the moment, makes the fault, looks what comes, repairs, and looks again."""
import collections
import concurrent.futures
import os
import subprocess
import sys
import tempfile

import disk_full
import faults
import matrix
import steps
import thalweg as tf

HERE = os.path.dirname(os.path.abspath(__file__))
AT_ONCE = 6  # rows that are played at one time: most of their time is waiting
MAKING_MS = 1500  # operation_timeout_in_ms where a session cannot be made
LIMIT = 30.0  # seconds, for what must come and has no limit of its own
SLACK = 3.0  # seconds, for a busy machine
CLIENT_LOST_AFTER = 3.0  # what clients give their master
LIMITS = {matrix.AT_ONCE: 0.0, matrix.TIMEOUT: MAKING_MS / 1000, matrix.LOST: faults.LOST_AFTER}
PATHS = {"registration": b"/RegisterGraph", "before start": b"WorkerService/RunGraph"}
NAMES = {tf.errors.UnavailableError: "UNAVAILABLE", tf.errors.DeadlineExceededError: "DEADLINE_EXCEEDED", tf.errors.AbortedError: "ABORTED"}

# `late`: seconds after the fault; None: nothing was to be heard.
Result = collections.namedtuple("Result", "code message late")


def outcome(call):
    """(code, message) of a call."""
    try:
        call()
        return "OK", ""
    except tf.errors.OpError as e:
        return NAMES.get(type(e), type(e).__name__), e.message


class Play:
    """One row."""

    def __init__(self, row):
        self.row = row
        self.cluster = faults.Cluster(one_machine=row.where == matrix.ONE_MACHINE)
        self.state = steps.State(self.cluster)
        self.clock = faults.running_time()
        self.begun = None  # of the fault
        self.sure = 0  # steps that have succeeded
        self.tried = 0  # and those that have not

    def run(self):
        try:
            self.state.begin()
            result = self.run_client() if self.row.role == "client" else self.run_task()
            return result
        finally:
            self.cluster.close()

    def fault(self):
        if self.begun is None:
            self.begun = self.clock.now()
            getattr(self.cluster, self.row.fault)(self.row.role)

    def step(self, client, what, timeout_ms=30000):
        """(code, message) of a step, which is counted."""
        result = outcome(lambda: client.run(what, timeout_ms))
        if result[0] == "OK":
            self.sure += 1
        else:
            self.tried += 1
        return result

    # The moments.

    def set_trap(self):
        """The fault will come when the step reaches the moment, where that is seen in a link."""
        links, role, moment = self.cluster.links, self.row.role, self.row.moment
        if moment in PATHS:
            links["master", "ps" if role in ("master", "client") else role].when_asked(PATHS[moment], self.fault)
        elif moment == "in a transfer":
            pair = {"ps": ("worker", "ps"), "worker": ("ps", "worker"), "master": ("ps", "master"), "client": ("client", "master")}[role]
            links[pair].when_answered(1 << 20, self.fault)

    def wait_for_kernel(self):
        """Until the queue's node waits there, and the master has heard of that task."""
        name = "ps" if self.row.role == "client" else self.row.role
        if name != "master":
            assert faults.wait_for(lambda: self.cluster.is_heard(name), LIMIT)
        assert faults.wait_for(lambda: "QueueDequeue" in str(faults.dump(self.cluster.ports[name]) or ""), LIMIT)

    def receiver(self):
        return "worker" if self.row.role == "ps" else "ps"

    def is_sent(self):
        """In a step through channels whose receiver does not read: the other end has all it is to send on its way."""
        told = faults.dump(self.cluster.ports["master"]) or {"steps": []}
        owed = [text for step in told["steps"] for text in step.get("asked", [])]
        mine = matrix.ADDRESS.get(self.row.role, "nobody")
        theirs = matrix.ADDRESS[self.receiver()]
        return any(theirs in text for text in owed) and not any(mine in text for text in owed)

    def fault_with_a_receiver_that_waits(self, wait):
        """The receiver reads nothing until the fault has come: it comes in the midst of the transfer."""
        name = self.receiver()
        self.cluster.stop(name)
        try:
            assert faults.wait_for(wait, LIMIT)
            self.fault()
        finally:
            self.cluster.repair(name, "stop")

    # A task fails.

    def run_task(self):
        client = steps.Client(self.cluster.target, self.row.role, self.making_ms())
        if self.row.moment == "session creation":
            self.fault()
        client.open()
        result = self.run_step(client)
        late = self.clock.now() - self.begun if self.begun is not None else None
        assert self.begun is not None, "the moment did not come"
        self.check_others()
        self.check_after(client)
        return Result(*result, late)

    def making_ms(self):
        return MAKING_MS if self.row.moment == "session creation" and self.row.fault != "slow" else 10000

    def run_step(self, client):
        row = self.row
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            if row.moment in ("between steps", "closing"):
                assert self.step(client, "simple") == ("OK", "")
                self.fault()
                return outcome(client.close) if row.moment == "closing" else self.step(client, "simple")
            if row.moment == "in a kernel":
                running = pool.submit(self.step, client, "taken")
                self.wait_for_kernel()
                self.fault()
                if row.fault == "slow":
                    assert self.step(client, "put")[0] == "OK"
                return running.result()
            if row.moment == "in a transfer" and row.where == matrix.ONE_MACHINE:
                assert self.step(client, "received") == ("OK", "")  # nothing is to be registered with who is stopped
                running = pool.submit(self.step, client, "received")
                self.fault_with_a_receiver_that_waits(self.is_sent)
                return running.result()
            if row.moment == "session creation":
                return self.step(client, "simple", self.making_ms())
            self.set_trap()
            return self.step(client, "received" if row.moment == "in a transfer" else "simple")

    def check_others(self):
        """Other sessions are untouched, and no other task keeps anything of the step."""
        name = "ps" if self.row.role == "worker" else "worker"
        job, task = faults.TASKS[name]
        config = tf.ConfigProto(device_filters=[f"/job:{job}/task:{task}"], operation_timeout_in_ms=10000)
        with tf.Graph().as_default():
            x = tf.placeholder_with_default(3.0, []) + 4.0
            with tf.Session(f"grpc://127.0.0.1:{self.cluster.ports[name]}", config=config) as session:
                assert session.run(x) == 7.0
        others = [task for task in faults.TASKS if task != self.row.role]
        assert faults.wait_for(lambda: self.is_empty(others), 20), f"kept: {self.cluster.open_steps(others)}"

    def is_empty(self, tasks):
        return all(steps_of == [] for steps_of in self.cluster.open_steps(tasks).values())

    # After the repair.

    def check_after(self, client):
        row = self.row
        self.cluster.repair(row.role, row.fault)
        is_new = row.fault == "kill"
        if (row.role, row.fault) == ("ps", "kill"):
            assert self.state.value() is None, "the new ps knows what the old one had"
            self.state.begin()
            self.sure = self.tried = 0
        self.check_state()
        if not is_new and row.moment not in ("session creation", "closing"):
            self.check_session(client)
        outcome(client.close)
        fresh = steps.Client(self.cluster.target, row.role)
        fresh.open()
        self.check_session(fresh)
        fresh.close()

    def check_session(self, client):
        """It works, soon: a step of another task may still be on its way to its end."""
        got = []
        assert faults.wait_for(lambda: got.append(self.step(client, "simple")) or got[-1][0] == "OK", LIMIT), got[-1]
        self.check_state()

    def check_state(self):
        """Every step was applied once, and those that failed at most once."""
        value = self.state.value()
        assert value is not None and self.sure <= value <= self.sure + self.tried, (value, self.sure, self.tried)

    # The client fails.

    def run_client(self):
        row = self.row
        process = subprocess.Popen([sys.executable, os.path.join(HERE, "steps.py"), self.cluster.target], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.cluster.processes["client"] = process

        def say(word):
            process.stdin.write(word + "\n")
            process.stdin.flush()

        def answer():
            """That what was said last is done."""
            line = process.stdout.readline()
            assert line.startswith("done "), f"the client has ended: {line}{process.stdout.read()}"

        say("open")
        answer()
        self.set_trap()
        self.bring_client(say, answer)
        assert faults.wait_for(lambda: self.begun is not None, LIMIT), "the moment did not come"
        self.check_client_gone(answer)
        self.cluster.repair(row.role, row.fault)
        process.kill()
        self.tried = 2
        fresh = steps.Client(self.cluster.target, row.role)
        fresh.open()
        self.check_session(fresh)
        fresh.close()
        return Result(row.codes[0], "", None)

    def bring_client(self, say, answer):
        row = self.row
        one_machine = row.where == matrix.ONE_MACHINE
        if row.moment in ("between steps", "closing"):
            say("simple")
            answer()
            if row.moment == "closing":
                say("close")
            return self.fault()
        if row.moment == "session creation":
            self.cluster.links["client", "master"].when_asked(b"/CreateSession", self.fault)
        what = {"in a kernel": "taken", "in a transfer": "big"}.get(row.moment, "simple")
        if row.moment == "in a transfer" and one_machine:
            say(what)
            answer()
            say(what)
            return self.fault_with_a_receiver_that_waits(lambda: not self.is_empty(["master"]))
        say(what)
        if row.moment == "in a kernel":
            self.wait_for_kernel()
            self.fault()
        return None

    def check_client_gone(self, answer):
        row = self.row
        if row.fault == "slow":
            if row.moment == "in a kernel":
                self.state.put()
            return None if row.moment in ("between steps", "closing") else self.check_heard(answer)
        if row.codes[0] == "waits":
            self.cluster.repair("client", "stop")
            if row.moment == "in a kernel":
                self.state.put()
            return None if row.moment in ("between steps", "closing") else self.check_heard(answer)
        self.check_others()
        assert faults.wait_for(lambda: self.is_empty(faults.TASKS), 20), f"kept: {self.cluster.open_steps(faults.TASKS)}"
        return None

    def check_heard(self, answer):
        answer()
        assert faults.wait_for(lambda: self.is_empty(faults.TASKS), 20), f"kept: {self.cluster.open_steps(faults.TASKS)}"


def play(row):
    """Its Result, or the exception. What was played while the machine stood still says nothing, and is played again."""
    clock = faults.running_time()
    for _ in range(5):
        away = clock.times_away
        result = play_once(row)
        if clock.times_away == away:
            break
    return result


def play_once(row):
    try:
        if row.fault != "disk full":
            return Play(row).run()
        with tempfile.TemporaryDirectory() as folder:
            return Result("RESOURCE_EXHAUSTED", disk_full.play(row, folder), None)
    except Exception as e:  # pylint: disable=broad-except  # the row's own test tells
        return e


def check(row, result):
    """Raises where it is not what the row says."""
    if isinstance(result, Exception):
        raise result
    assert result.code in row.codes, (result.code, result.message)
    for words in row.words:
        assert words in result.message, result.message
    if result.late is not None and row.when:
        limit = CLIENT_LOST_AFTER if row.role == "master" and row.when == matrix.LOST else LIMITS[row.when]
        assert result.late <= limit + 1 + SLACK, (result.late, result.message)


def play_all(rows):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(rows, pool.map(play, rows)))
