# SPDX-License-Identifier: Apache-2.0
"""Nothing waits for itself: what closes a session within its own step, or uses in a fork what only its parent has, ends. Each
program runs in a process of its own, which is given a minute."""
import subprocess
import sys

import pytest

COMMON = """
import gc, os, sys, threading
import numpy as np
import thalweg as tf

def ends_step(session, fetch):
    try:
        session.run(fetch)
    except (tf.errors.CancelledError, tf.errors.AbortedError, tf.errors.UnavailableError, RuntimeError) as error:
        sys.stdout.write(f"ended: {type(error).__name__}\\n")  # whole: others write too
    else:
        sys.stdout.write("ended: well\\n")

def calls(function, *more):
    return tf.numpy_function(lambda: (function(), np.float32(1))[1], [], tf.float32)
"""


def run(program, seconds=60):
    made = subprocess.run([sys.executable, "-c", COMMON + program], capture_output=True, text=True, timeout=seconds, check=False)
    assert made.returncode == 0, made.stderr
    return made.stdout.splitlines()


@pytest.mark.parametrize("target", ["''", "tf.train.Server.create_local_server().target"])
@pytest.mark.parametrize("run_step", ["ends_step(session, y)", "ends_step(session, [y, y + y])",
                                      "ends_step(session, tf.while_loop(lambda i: i < 3.0, lambda i: i + calls(close), [0.0]))",
                                      "threads = [threading.Thread(target=ends_step, args=(session, y)) for _ in range(4)]\n"
                                      "[t.start() for t in threads]; [t.join() for t in threads]"])
def test_a_step_closes_its_own_session(target, run_step):
    said = run(f"""
def close():
    session.close()
y = calls(close)
session = tf.Session({target})
{run_step}
print("closed:", session._closed if hasattr(session, "_closed") else True)
try:
    session.run(y)
except RuntimeError as error:
    print(error)
with tf.Session({target}) as another:  # all is well for others
    print(another.run(tf.constant(2) + 3))
""")
    assert said[-2:] == ["Attempted to use a closed Session.", "5"], said
    assert all(line.startswith(("ended:", "closed:")) for line in said[:-2]), said


def test_two_steps_close_each_others_session():
    said = run("""
both = threading.Barrier(2)
def close(other):
    both.wait()
    sessions[other].close()
fetches = [calls(lambda other=other: close(other)) for other in (1, 0)]
sessions = [tf.Session() for _ in range(2)]
threads = [threading.Thread(target=ends_step, args=pair) for pair in zip(sessions, fetches)]
[t.start() for t in threads]
[t.join() for t in threads]
print("over")
""")
    assert said[-1] == "over"


def test_a_step_stops_or_resets_its_own_server():
    for what in ("server.stop()", "tf.Session.reset(server.target)"):
        said = run(f"""
server = tf.train.Server.create_local_server()
def stop():
    {what}
y = calls(stop)
session = tf.Session(server.target)
try:
    print("ended:", session.run(y))
except tf.errors.OpError as error:
    sys.stdout.write(f"ended: {{type(error).__name__}}\\n")  # whole: others write too
server.stop()
server.join()
print("over")
""")
        assert said[-1] == "over" and said[0].startswith("ended:"), said


def test_a_queue_runner_may_close_its_session():
    said = run("""
def close():
    session.close()
queue = tf.FIFOQueue(10, tf.float32, shapes=[[]])
runner = tf.train.QueueRunner(queue, [queue.enqueue(calls(close))] * 2)
session = tf.Session()
coordinator = tf.train.Coordinator()
threads = runner.create_threads(session, coordinator, start=True)
for thread in threads:
    thread.join(30)
print("alive:", sum(t.is_alive() for t in threads))
""")
    assert said[-1] == "alive: 0"


FORK = """
server = tf.train.Server.create_local_server()
value = tf.constant(2) + 3
session = tf.Session(server.target)
assert session.run(value) == 5
here = tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=3))
assert here.run(value) == 5

def says(act):
    try:
        print(act())
    except tf.errors.FailedPreconditionError as error:
        print("forked" if "was forked from process" in error.message else error.message)

sys.stdout.flush()
child = os.fork()
if child == 0:
    says(lambda: session.run(value))
    says(lambda: session.run(value + 1))
    says(session.list_devices)
    says(lambda: tf.Session(server.target).run(value))
    says(lambda: tf.train.Server.create_local_server().target)
    says(lambda: tf.Session.reset(server.target))
    says(server.stop)
    server.join()
    session.close()
    with tf.Session() as local:
        says(lambda: local.run(value))
    says(lambda: here.run(value))
    here.close()
    del session, server, here
    gc.collect()
    print("end of the child")
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert session.run(value) == 5 and session.run(value * 2) == 10  # the parent's are as they were
session.close()
server.stop()
print("end of the parent")
"""


def test_a_fork_is_told_what_it_does_not_have():
    assert run(FORK) == ["forked"] * 7 + ["5", "5", "end of the child", "end of the parent"]


def test_a_fork_ends_while_a_thread_that_it_does_not_have_runs_a_step():
    said = run("""
queue = tf.FIFOQueue(1, [tf.int32])
begun = threading.Event()
with tf.control_dependencies([tf.py_func(begun.set, [], [])]):
    taken = queue.dequeue()
session = tf.Session()
waiting = threading.Thread(target=lambda: print(session.run(taken)))
waiting.start()
begun.wait()
sys.stdout.flush()
child = os.fork()
if child == 0:
    with tf.Session() as own:
        try:
            own.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=50))
        except tf.errors.DeadlineExceededError:
            print("too late")
    session.close()
    del session, own
    gc.collect()
    print("end of the child")
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
session.run(queue.enqueue(7))
waiting.join()
""")
    assert said == ["too late", "end of the child", "7"]


def test_a_fork_may_be_the_first_to_use_servers():
    said = run("""
child = os.fork()
with tf.Session(tf.train.Server.create_local_server().target) as session:
    assert session.run(tf.constant(2) + 3) == 5
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print("over")
""")
    assert said == ["over"]


def test_a_server_that_the_program_lets_go_of_serves_on():
    said = run("""
target = tf.train.Server.create_local_server().target
gc.collect()
with tf.Session(target) as session:
    print(session.run(tf.constant(2) + 3))
""")
    assert said == ["5"]


def test_a_function_of_a_step_waits_for_the_thread_that_closes_its_session():
    said = run("""
def close_elsewhere():
    thread = threading.Thread(target=session.close)
    thread.start()
    thread.join()
y = calls(close_elsewhere)
session = tf.Session()
ends_step(session, y)
print("over")
""")
    assert said[0].startswith("ended:") and said[-1] == "over"


PARTIAL = """
fed, second = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
more = fed + 1
most = more * second
session = tf.Session(TARGET, config=CONFIG)

def says(act):
    try:
        print(act())
    except tf.errors.FailedPreconditionError as error:
        print("forked" if "forked" in error.message else error.message)

def anew(session):
    handle = session.partial_run_setup([more, most], [fed, second])
    print(session.partial_run(handle, more, {fed: 6}), session.partial_run(handle, most, {second: 2}))
    session.partial_run_setup([more], [fed])  # given up

handle = session.partial_run_setup([more, most], [fed, second])
if BEGUN:
    print(session.partial_run(handle, more, {fed: 6}))
sys.stdout.flush()
child = os.fork()
if child == 0:
    if USED and not BEGUN:
        says(lambda: session.partial_run(handle, more, {fed: 6}))
    if USED:
        says(lambda: session.partial_run(handle, most, {second: 2}))
    if USED and not TARGET:
        anew(session)
        anew(tf.Session(config=CONFIG))
    session.close()
    del session
    gc.collect()
    print("end of the child")
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
if not BEGUN:
    print(session.partial_run(handle, more, {fed: 6}))
print(session.partial_run(handle, most, {second: 2}))
"""


def check(begun, used, others, target="''", config="None"):
    """`begun`: the parent has its first fetch before the fork; `used`: the child does more than close its session."""
    said = run(f"TARGET, CONFIG, BEGUN, USED = {target}, {config}, {begun}, {used}\n{PARTIAL}")
    child = ["forked"] * (1 if begun else 2) + others if used else []
    parent, before = ["7", "14"], 1 if begun else 0
    assert said == [*parent[:before], *child, "end of the child", *parent[before:]]


CASES = pytest.mark.parametrize(("begun", "used"), [(True, True), (False, True), (False, False)])


@pytest.mark.parametrize("config", ["None", "tf.ConfigProto(inter_op_parallelism_threads=-1)"])
@CASES
def test_a_fork_does_not_go_on_with_a_partial_run_and_may_begin_others(begun, used, config):
    check(begun, used, ["7 14", "7 14"], config=config)


@CASES
def test_a_fork_does_not_go_on_with_a_partial_run_of_a_server(begun, used):
    check(begun, used, [], "tf.train.Server.create_local_server().target")
