# SPDX-License-Identifier: Apache-2.0
"""The rows of docs/failures.md: which part fails, when, how, and what the client then hears. test_failures.py holds each of them;
`python tests/failures/matrix.py` plays them and writes the page."""
import collections
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "failures.md")
MACHINES, ONE_MACHINE, HOSTS = "several machines", "one machine", "two hosts"
ROLES = ("ps", "worker", "master", "client")
MOMENTS = {
    MACHINES: ("session creation", "registration", "before start", "in a kernel", "in a transfer", "between steps", "closing"),
    ONE_MACHINE: ("session creation", "registration", "in a kernel", "in a transfer", "between steps", "closing"),
    HOSTS: ("session creation", "in a kernel", "in a transfer", "between steps", "closing"),
}
FAULTS = {MACHINES: ("kill", "stop", "partition", "slow"), ONE_MACHINE: ("kill", "stop"), HOSTS: ("partition", "slow")}

# `when`: how soon after the fault the client hears.
Row = collections.namedtuple("Row", "where role moment fault codes words when")
ADDRESS = {"ps": "/job:ps/replica:0/task:0", "worker": "/job:worker/replica:0/task:1", "master": "grpc://"}
GOES_ON = ("slow", "narrow")  # who hears nothing of the fault
AT_ONCE, LOST, TIMEOUT, NEVER = "at once", "when it counts as lost", "at its timeout", ""


NARROW_AT = "in a transfer"


def faults_at(where, moment):
    return FAULTS[where] + (("narrow",) if where != ONE_MACHINE and moment == NARROW_AT else ())


def _expected(where, role, moment, fault):
    """Codes that may come, words that must be in the message, and when it comes."""
    if fault in GOES_ON or moment == "closing":
        return ("OK",), (), NEVER
    if (where, moment, fault) == (ONE_MACHINE, "in a transfer", "stop") and role in ("ps", "worker"):
        return ("OK",), (), NEVER  # its part is done: the value lies in shared memory
    if role == "client":
        # Nobody is left to hear; the step must go from every task. One who is stopped on the same machine is waited for.
        return (("waits",) if (where, fault) == (ONE_MACHINE, "stop") else ("gone",)), (), NEVER
    if moment == "session creation":
        if role != "master":
            return ("UNAVAILABLE",), (ADDRESS[role], "did not answer GetStatus within"), TIMEOUT
        if fault == "kill":
            return ("UNAVAILABLE",), (ADDRESS[role],), AT_ONCE
        return ("DEADLINE_EXCEEDED",), (ADDRESS[role],), TIMEOUT
    if fault == "kill":
        return ("UNAVAILABLE",), (ADDRESS[role],), AT_ONCE
    if role == "master":
        return ("UNAVAILABLE",), (ADDRESS[role], "the master is lost"), LOST
    # Who is lost early has perhaps not sent a heartbeat yet; in a kernel the fault waits for one.
    heard = ("last heartbeat",) if moment == "in a kernel" else ()
    return ("UNAVAILABLE",), (ADDRESS[role], "is lost: it has not answered for", *heard), LOST


def rows():
    return [Row(w, r, m, f, *_expected(w, r, m, f)) for w in MOMENTS for r in ROLES for m in MOMENTS[w] for f in faults_at(w, m)]


def name(row):
    return ", ".join(row[:4])


def of_their_own():
    """Rows that are played each by a file of its own."""
    full = Row(MACHINES, "master", "saving a checkpoint", "disk full", ("RESOURCE_EXHAUSTED",), ("saving 'w'", "cannot write"), AT_ONCE)
    return [full, *(_lost_device(role, task) for role, task in (("master", 0), ("worker", 1)))]


def _lost_device(role, task):
    device = f"/job:worker/replica:0/task:{task}/device:FAKE:0"
    return Row(MACHINES, role, "in a step", "device lost", ("UNAVAILABLE",), (f"device {device} is lost", "[[", f"on {device}; inputs"), AT_ONCE)


HEAD = """# What happens when a part of a cluster fails

Made by `python tests/failures/matrix.py`, held row by row by `tests/failures/test_failures.py` with real processes: a client, a master
(`worker:0`), a `ps:0` and a `worker:1`, with links between them that can be cut and slowed.

The faults: **kill** (SIGKILL), **stop** (SIGSTOP: the process is there and does nothing), **partition** (nothing passes to or from the
task, and nothing is refused), **slow** (each piece of data, of at most 64 KB, is 10 ms late), **narrow** (the rest of a value of 16 MB
takes longer than a silent master or task is waited for: 2 MB a second pass), **disk full** (a file takes no more), **device lost** (an
accelerator of the task is gone, its process goes on: played by the fake device).

When the client hears: **at once** (within a second), **when it counts as lost** (within `--lost-after` and one second more; 3 s is the
default, 2 s that of these rows; a client gives its master 3 s, or what its target says: `?lost-after=20`), **at its timeout** (within
`operation_timeout_in_ms`, without one 60 s, and one second more), on a machine that has nothing else to do. Sessions that do not use the
task go on, and no other task keeps anything of the step. Numbers in the messages are replaced by N.
"""
TABLE = """
## Tasks on {where}

{how}

| part | moment | fault | the client hears | when | word by word |
|---|---|---|---|---|---|
"""
HOW = {
    MACHINES: "Steps go by calls over the network.",
    ONE_MACHINE: """Steps go through channels between the processes; what is asked of a session before goes by calls. Nothing can be cut here. A
value that was sent lies in shared memory, where it is read though its producer stands still.""",
    HOSTS: """Steps go by calls. The part that fails stands on a host of its own: the hosts are network namespaces, joined by a bridge of the
kernel's, whose cable to that host is pulled (partition), or late by 10 ms, with losses and in another order where the kernel can do so,
else narrow (100 Mbit/s) with losses (slow). Where a machine lets nobody make namespaces these rows are played by the links of the first
table, and the run says so.""",
}
HEARS = {"OK": "nothing: it goes on", "gone": "nothing: it is the client, and its step ends everywhere",
         "waits": "nothing: the step waits, and goes on with it"}

TAIL = """
A step that ended so is not repeated by itself. In every row, after the repair: the session goes on where its tasks are as they were
(after stop, partition and slow); a task that was killed and comes back is another one (its incarnation differs), sessions that used it get
ABORTED or UNAVAILABLE, and a new session goes on. A counter on the ps shows that each step that succeeded was applied once, each that
failed at most once; it is intact unless the ps itself was killed (then it is uninitialized: restore the last checkpoint, as
`tf.train.MonitoredTrainingSession` does).

**A lost device.** Steps that use it end, others of the session go on. What its memory held is gone, also of state that sessions share: so
the task says so until it is started anew, with what the last checkpoint has. A session in one process, whose state is its own, need
only be made again: it has the device once that is back, and the CPU until then.

**What the message tells.** Which task, at which address; how long it has been silent; where its process is on the same machine,
whether it has ended (and by which signal, while its parent has not asked), is stopped, or is there and cut off; whether the kernel killed
a process of its memory group or of the machine for want of memory meanwhile, or none; its last heartbeat: resident and peak memory, its
open steps and what they waited for.

**Deadlines.** A step that does not end in time says, task by task, which nodes compute, which wait, for which queue or value, and who
was asked for it.

**Stuck, not lost.** When no node ends and no value moves in any task of a step for `--stuck-after` (60 s; -1: never) while all tasks
answer, the step is ended with the same report. A step that waits for a queue of a task in which other steps move is waiting, not
stuck; a task that computes is not stuck.

**Recorded steps.** Who records steps (`thalweg trace record`) gets one that fails with what was seen until then, and the name of each task
of which nothing is known, as it was killed, stands still or is cut off; clients hear what they would. Who records and goes away, as he is
killed, is forgotten at once; one who is told to end gets what was recorded until then; a master that ends tells him so.

**Looking into it.** `thalweg debug dump grpc://HOST:PORT [--json]` shows the open steps of a server, the nodes that compute, those that wait
and for what, the values that lie or are awaited, open calls, and the tasks it watches, also while a step is stuck; `kill -USR1` makes
`thalweg serve` write the same to standard error.
"""


def without_numbers(message):
    """As it is printed: what differs from run to run is N."""
    text = re.sub(r"(127\.0\.0\.1|10\.64\.\d+\.\d+):\d+", "127.0.0.1:N", " ".join(message.split()))
    text = re.sub(r"\b(process|step|id) -?\d+", r"\1 N", text)
    text = re.sub(r"\d+(\.\d+)?(e[-+]\d+)? (s|ms|MB)\b", r"N \3", text)
    return re.sub(r"(/tmp/|/dev/shm/)[^ ;,')]*", "FILE", text).replace("|", "/").replace("`", "'")


def cells(row, message=None):
    """A line of the page; without a message, its begin."""
    begin = f"| {row.role} | {row.moment} | {row.fault} | {HEARS.get(row.codes[0], ' or '.join(row.codes))} | {row.when} |"
    if message is None:
        return begin
    return f"{begin} `{without_numbers(message)}` |" if message else f"{begin} |"


def page(messages):
    """`messages`: what came, by row."""
    text = HEAD
    for where in MOMENTS:
        text += TABLE.format(where=where, how=HOW[where])
        text += "".join(cells(row, messages[row]) + "\n" for row in [*rows(), *of_their_own()] if row.where == where)
    return text + TAIL


def read_messages():
    """Of the page: what came, by row; a row whose line is not there has none."""
    with open(PAGE, encoding="utf-8") as f:
        parts = f.read().split("\n## Tasks on ")
    messages = {}
    for row in [*rows(), *of_their_own()]:
        lines = next((p for p in parts if p.startswith(row.where)), "").splitlines()
        for line in lines:
            if line.startswith(cells(row)):
                messages[row] = line[len(cells(row)):].strip(" |`")
    return messages


def main():
    import play

    played = play.play_all([*rows(), *of_their_own()])
    failed = False
    for row, result in played.items():
        try:
            play.check(row, result)
        except Exception as e:  # pylint: disable=broad-except  # of any row
            failed = True
            print(f"{name(row)}: {e}")
    if not failed:
        with open(PAGE, "w", encoding="utf-8") as out:
            out.write(page({row: result.message for row, result in played.items()}))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
