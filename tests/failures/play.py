# SPDX-License-Identifier: Apache-2.0
"""Plays rows of the matrix: brings a cluster to the moment, makes the fault, looks what comes, repairs, and looks again.

`python play.py NUMBER...` plays these rows of matrix.rows() on hosts of its own, until its input ends, and prints what came."""
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings

import disk_full
import faults
import hosts
import lost_device
import matrix
import steps
import thalweg as tf
import waiting

HERE = os.path.dirname(os.path.abspath(__file__))
AT_ONCE = 6  # rows that are played at one time: most of their time is waiting
MAKING_MS = 1500  # operation_timeout_in_ms where a session cannot be made
LIMIT = 30.0  # seconds, for what must come and has no limit of its own
CALL_MS = 40000  # for a call that should end by itself
CALL_LIMIT = 45.0  # seconds, for such a call
ROW_LIMIT = 60.0  # seconds; a row takes at most fifteen
SLACK = 3.0  # seconds, beside what others took of the processors
LOST_AFTER, CLIENT_LOST_AFTER = 2.0, 3.0  # seconds, where somebody is to be lost
# Where nobody is to be lost: who is slow is not lost then, and what comes at once does not come because somebody was silent.
PATIENT = 20.0
PATHS = {"registration": b"/RegisterGraph", "before start": b"WorkerService/RunGraph"}
NAMES = {tf.errors.UnavailableError: "UNAVAILABLE", tf.errors.DeadlineExceededError: "DEADLINE_EXCEEDED", tf.errors.AbortedError: "ABORTED"}

# `late`: seconds after the fault; None: nothing was to be heard.
Result = collections.namedtuple("Result", "code message late")


def lost_after(row):
    """Of the tasks."""
    if row.fault == "narrow":
        return CLIENT_LOST_AFTER
    if row.role == "master" and row.when != matrix.LOST:
        return 3 * LOST_AFTER  # its tasks keep a step so long when it has gone
    if row.when != matrix.LOST:
        return PATIENT
    stands = row.where == matrix.ONE_MACHINE and row.moment == "in a transfer"  # the receiver does, too, for a moment
    return 3 * LOST_AFTER if stands else LOST_AFTER


def master_lost_after(row):
    """Of the client."""
    return CLIENT_LOST_AFTER if row.fault == "narrow" or (row.role, row.when) == ("master", matrix.LOST) else PATIENT


def limit(row):
    """Of the time after the fault in which the client hears."""
    lost = master_lost_after(row) if row.role == "master" else lost_after(row)
    return 1 + SLACK + {matrix.AT_ONCE: 0.0, matrix.TIMEOUT: MAKING_MS / 1000, matrix.LOST: lost}[row.when]


def outcome(call):
    """(code, message) of a call."""
    try:
        call()
        return "OK", ""
    except tf.errors.OpError as e:
        return NAMES.get(type(e), type(e).__name__), e.message


class Play:
    """One row. `network`: as faults.Cluster has it."""

    def __init__(self, row, network=None):
        self.row = row
        self.cluster = faults.Cluster(by_calls=row.where != matrix.ONE_MACHINE and network is None, network=network, lost_after=lost_after(row))
        self.target = self.cluster.patient_target(master_lost_after(row))
        self.state = steps.State(self.cluster)
        self.clock = waiting.running_time()
        self.begun = None  # of the fault
        self.made = threading.Event()  # the fault is there as a whole
        self.sure = 0  # steps that have succeeded
        self.tried = 0  # and those that have not

    def run(self):
        self.state.begin()
        return self.run_client() if self.row.role == "client" else self.run_task()

    def fault(self):
        if self.begun is None:
            self.begun = self.clock.now()
            getattr(self.cluster, self.row.fault)(self.row.role)
            self.made.set()

    def step(self, client, what, timeout_ms=CALL_MS):
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
        network, role, moment = self.cluster.network, self.row.role, self.row.moment
        if moment in PATHS:
            network["master", "ps" if role in ("master", "client") else role].when_asked(PATHS[moment], self.fault)
        elif moment == "in a transfer":
            receiver = {"ps": "worker", "worker": "ps", "master": "ps", "client": "client"}[role]
            network.in_a_transfer("master" if role == "client" else role, receiver, self.fault)

    def wait_for_kernel(self):
        """Until the queue's node waits there, and the master has heard of that task."""
        name = "ps" if self.row.role == "client" else self.row.role
        if name != "master":
            assert waiting.wait_for(lambda: self.cluster.is_heard(name), LIMIT)
        assert waiting.wait_for(lambda: "QueueDequeue" in str(self.cluster.dump(name) or ""), LIMIT)

    def receiver(self):
        return "worker" if self.row.role == "ps" else "ps"

    def is_sent(self):
        """In a step through channels whose receiver does not read: the other end has all it is to send on its way."""
        told = self.cluster.dump("master") or {"steps": []}
        owed = [text for step in told["steps"] for text in step.get("asked", [])]
        mine = matrix.ADDRESS.get(self.row.role, "nobody")
        theirs = matrix.ADDRESS[self.receiver()]
        return any(theirs in text for text in owed) and not any(mine in text for text in owed)

    def fault_with_a_receiver_that_waits(self, begin, wait):
        """The receiver reads nothing until the fault has come: it comes in the midst of the transfer. What `begin` gave."""
        name = self.receiver()
        self.cluster.stop(name)
        try:
            begun = begin()
            assert waiting.wait_for(wait, LIMIT), "the receiver stands, and nothing is on its way to it"
            self.fault()
            return begun
        finally:
            self.cluster.repair(name, "stop")

    # A task fails.

    def run_task(self):
        client = steps.Client(self.target, self.row.role, self.making_ms())
        if self.row.moment == "session creation":
            self.fault()
        client.open()
        result = self.run_step(client)
        late = self.clock.now() - self.begun if self.begun is not None else None
        assert waiting.wait_for(self.made.is_set, LIMIT), "the moment did not come"
        result = Result(*result, late)
        check(self.row, result)
        self.check_others()
        self.check_after(client)
        return result

    def making_ms(self):
        return MAKING_MS if self.row.moment == "session creation" and self.row.fault not in matrix.GOES_ON else CALL_MS

    def run_step(self, client):
        row = self.row
        if row.moment in ("between steps", "closing"):
            assert self.step(client, "simple") == ("OK", "")
            self.fault()
            return outcome(client.close) if row.moment == "closing" else self.step(client, "simple")
        if row.moment == "in a kernel":
            running = waiting.Later(self.step, client, "taken")
            self.wait_for_kernel()
            self.fault()
            if row.fault in matrix.GOES_ON:
                assert self.step(client, "put")[0] == "OK"
            return running.result(CALL_LIMIT)
        if row.moment == "in a transfer" and row.where == matrix.ONE_MACHINE:
            assert self.step(client, "received") == ("OK", "")  # nothing is to be registered with who is stopped
            step = lambda: waiting.Later(self.step, client, "received")
            return self.fault_with_a_receiver_that_waits(step, self.is_sent).result(CALL_LIMIT)
        if row.moment == "session creation":
            return self.step(client, "simple", self.making_ms())
        self.set_trap()
        return self.step(client, "received" if row.moment == "in a transfer" else "simple")

    def check_others(self):
        """Other sessions are untouched, and no other task keeps anything of the step."""
        name = "ps" if self.row.role == "worker" else "worker"
        job, task = faults.TASKS[name]
        config = tf.ConfigProto(device_filters=[f"/job:{job}/task:{task}"], operation_timeout_in_ms=CALL_MS)
        with tf.Graph().as_default():
            x = tf.placeholder_with_default(3.0, []) + 4.0
            with tf.Session("grpc://" + self.cluster.network.here(name), config=config) as session:
                assert session.run(x) == 7.0
        others = [task for task in faults.TASKS if task != self.row.role]
        assert waiting.wait_for(lambda: self.is_empty(others), 20), f"kept: {self.cluster.open_steps(others)}"

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
        fresh = steps.Client(self.target, row.role)
        fresh.open()
        self.check_session(fresh)
        fresh.close()

    def check_session(self, client):
        """It works, soon: a step of another task may still be on its way to its end."""
        got = []
        assert waiting.wait_for(lambda: got.append(self.step(client, "simple")) or got[-1][0] == "OK", LIMIT), got[-1]
        self.check_state()

    def check_state(self):
        """Every step was applied once, and those that failed at most once."""
        value = self.state.value()
        assert value is not None and self.sure <= value <= self.sure + self.tried, (value, self.sure, self.tried)

    # The client fails.

    def run_client(self):
        row = self.row
        process = subprocess.Popen([*self.cluster.network.around("client"), sys.executable, os.path.join(HERE, "steps.py"),
                                    self.target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.cluster.processes["client"] = process

        def say(word):
            process.stdin.write(word + "\n")
            process.stdin.flush()

        def answer():
            """That what was said last is done."""
            line = waiting.read_line(process.stdout, 2 * CALL_LIMIT, "the client")
            assert line.startswith("done "), f"the client has ended: {line}{process.stdout.read()}"

        say("open")
        answer()
        self.set_trap()
        self.bring_client(say, answer)
        assert waiting.wait_for(self.made.is_set, LIMIT), "the moment did not come"
        self.check_client_gone(answer)
        self.cluster.repair(row.role, row.fault)
        process.kill()
        self.tried = 2
        fresh = steps.Client(self.target, row.role)
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
            self.at_session_creation()
        what = {"in a kernel": "taken", "in a transfer": "big"}.get(row.moment, "simple")
        if row.moment == "in a transfer" and one_machine:
            say(what)
            answer()
            return self.fault_with_a_receiver_that_waits(lambda: say(what), lambda: not self.is_empty(["master"]))
        say(what)
        if row.moment == "in a kernel":
            self.wait_for_kernel()
            self.fault()
        return None

    def at_session_creation(self):
        if self.row.where == matrix.HOSTS:
            return self.fault()
        return self.cluster.network["client", "master"].when_asked(b"/CreateSession", self.fault)

    def check_client_gone(self, answer):
        row = self.row
        if row.fault in matrix.GOES_ON:
            if row.moment == "in a kernel":
                self.state.put()
            return None if row.moment in ("between steps", "closing") else self.check_heard(answer)
        if row.codes[0] == "waits":
            self.cluster.repair("client", "stop")
            if row.moment == "in a kernel":
                self.state.put()
            return None if row.moment in ("between steps", "closing") else self.check_heard(answer)
        self.check_others()
        assert waiting.wait_for(lambda: self.is_empty(faults.TASKS), 20), f"kept: {self.cluster.open_steps(faults.TASKS)}"
        return None

    def check_heard(self, answer):
        answer()
        assert waiting.wait_for(lambda: self.is_empty(faults.TASKS), 20), f"kept: {self.cluster.open_steps(faults.TASKS)}"


class Failed(AssertionError):
    """A row that does not hold: which, why, and what there was to see."""


def play(row, on_hosts=False):
    """Its Result, or a Failed. A row that does not hold while the machine stood still says nothing, and is played again."""
    clock = waiting.running_time()
    for _ in range(5):
        away = clock.times_away
        result = play_once(row, on_hosts)
        if clock.times_away == away or not isinstance(result, Failed):
            break
    return result


def play_once(row, on_hosts):
    """Within ROW_LIMIT: what still runs then is looked at, and ends with its cluster."""
    playing, told = None, ""
    try:
        if row.fault == "disk full":
            with tempfile.TemporaryDirectory() as folder:
                return Result("RESOURCE_EXHAUSTED", disk_full.play(row, folder), None)
        if row.fault == "device lost":
            with tempfile.TemporaryDirectory() as folder:
                return Result("UNAVAILABLE", lost_device.play(row, folder), None)
        playing = Play(row, hosts.Hosts(row.role) if on_hosts else None)
        running = waiting.Later(playing.run)
        return running.result(ROW_LIMIT)
    except Exception as e:  # pylint: disable=broad-except  # the row's own test tells
        told = "".join(traceback.format_exception(e)) + (playing.cluster.told() if playing is not None else "")
        return Failed(f"{matrix.name(row)}: {e}\n{told}")
    finally:
        if playing is not None:
            playing.cluster.close()


def check(row, result):
    """Raises where it is not what the row says."""
    if isinstance(result, Exception):
        raise result
    assert result.code in row.codes, (result.code, result.message)
    for words in row.words:
        assert words in result.message, result.message
    if result.late is not None and row.when:
        assert result.late <= limit(row), (result.late, limit(row), result.message)


def play_here(rows, on_hosts=False):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(rows, pool.map(lambda row: play(row, on_hosts), rows)))


def play_all(rows):
    """The result of each. Rows of two hosts are played by namespaces in a process of their own, which says so; where the machine does
    not let it, by links of this host."""
    between = [row for row in rows if row.where == matrix.HOSTS]
    played = play_here([row for row in rows if row.where != matrix.HOSTS])
    if not between:
        return played
    if why := hosts.why_not():
        warnings.warn(f"{len(between)} rows of two hosts are played by links of one host, as no network namespaces can be had: {why}")
        return played | play_here(between)
    return played | play_on_hosts(between)


def play_on_hosts(rows):
    every = matrix.rows()
    command = [*hosts.alone(), sys.executable, os.path.join(HERE, "play.py"), *(str(every.index(row)) for row in rows)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as player:
        try:
            text = waiting.Later(player.stdout.read).result(ROW_LIMIT * (1 + len(rows) / AT_ONCE))
            assert player.wait(60) == 0 and text, f"{command} has ended with {player.returncode} and said {text!r}"
        finally:
            player.kill()  # and with it all that was started there
    told = json.loads(text.splitlines()[-1])
    return {row: Failed(answer["failed"]) if "failed" in answer else Result(**answer) for row, answer in zip(rows, told)}


def main():
    """The other end of play_on_hosts."""
    def end_with_input():
        sys.stdin.read()
        os._exit(1)

    threading.Thread(target=end_with_input, daemon=True).start()
    rows = [matrix.rows()[int(number)] for number in sys.argv[1:]]
    results = play_here(rows, on_hosts=True)
    print(json.dumps([{"failed": str(r)} if isinstance(r, Exception) else r._asdict() for r in results.values()]), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
