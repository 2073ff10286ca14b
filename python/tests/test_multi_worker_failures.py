# SPDX-License-Identifier: Apache-2.0
"""Workers in step of which one fails, ends, or begins elsewhere: the others end, with its name and its reason."""
import os
import subprocess
import sys
import textwrap
import threading

import multi_worker_cases as cases
import pytest
import thalweg as tf
from multi_worker_threads import each_worker, local_servers
from thalweg.cluster.local_cluster import free_ports

OURS = [sys.executable, "-m", "thalweg.as_tensorflow"]
TASK = "/job:worker/replica:0/task:%d"

PROGRAM = """
    import json, os, signal, sys
    import tensorflow as tf

    number = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    repeats, seen = REPEATS[number], []
    def fails(features):
        seen.append(1)
        if number == ENDS and len(seen) == AT:
            os.kill(os.getpid(), signal.SIGKILL)
        return features
    def model_fn(features, labels, mode):
        EARLY
        w = tf.get_variable("w", initializer=1.0)
        v = tf.get_variable("v", initializer=1.0)
        features = tf.py_func(fails, [features], tf.float32)
        features.set_shape([2])
        loss = tf.reduce_mean(tf.square(features * w + v - labels))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.train.GradientDescentOptimizer(0.01).minimize(
            loss, tf.train.get_global_step()))
    def inputs():
        return tf.data.Dataset.from_tensor_slices(([1.0, 2.0], [3.0, 6.0])).repeat(repeats).batch(2)
    config = tf.estimator.RunConfig(FOLDERS[number], train_distribute=strategy, save_checkpoints_steps=1000)
    tf.estimator.train_and_evaluate(tf.estimator.Estimator(model_fn, config=config),
                                    tf.estimator.TrainSpec(inputs, max_steps=MOST), tf.estimator.EvalSpec(inputs))
"""


def started(folder, count, repeats=None, ends=None, at=1, most=None, folders=None, before="", early="pass"):
    """Workers that train: worker `ends` kills itself in its step number `at`; all do `early` while they make the model."""
    text = before + textwrap.dedent(PROGRAM)
    for name, value in {"EARLY": early, "REPEATS": repeats or [None] * count, "ENDS": ends, "AT": at, "MOST": most,
                        "FOLDERS": [str(folder / name) for name in folders or ["model"] * count]}.items():
        text = text.replace(name, str(value))
    (folder / "program.py").write_text(text)
    return cases.started(OURS, [str(folder / "program.py")], cases.workers(count), free_ports(count))


def ended(workers, seconds=300):
    """[(exit status, what it said to stderr)]; no worker is left."""
    try:
        said = [worker.communicate(timeout=seconds)[1] for worker in workers]
        return [(worker.returncode, errors) for worker, errors in zip(workers, said)]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


@pytest.mark.parametrize(("count", "killed", "at"), [(2, 1, 1), (3, 2, 1), (3, 0, 3)])
def test_who_is_killed_is_named_to_all_others(tmp_path, count, killed, at):
    for number, (status, errors) in enumerate(ended(started(tmp_path, count, ends=killed, at=at))):
        if number == killed:
            assert status == -9, errors
            continue
        message = errors[errors.rindex("\nthalweg.errors."):] if "\nthalweg.errors." in errors else errors
        assert status == 1 and "Unavailable" in message and TASK % killed in message, errors


@pytest.mark.parametrize(("early_one", "how"), [(0, "raise"), (1, "raise"), (1, "kill")])
def test_who_ends_before_the_others_train_is_missed(tmp_path, early_one, how):
    """It has a server, but no session yet; nor has the other one, until then."""
    os.mkfifo(tmp_path / "both")
    before = f"""
import os, signal
def meet_and_end(number):
    open({str(tmp_path / "both")!r}, "w" if number else "r").close()  # both are here
    if number == {early_one} and {how!r} == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if number == {early_one}:
        raise ValueError("too early")
"""
    workers = started(tmp_path, 2, before=before, early="meet_and_end(number)")
    for number, (status, errors) in enumerate(ended(workers)):
        if number != early_one:
            assert status == 1 and "Unavailable" in errors and TASK % early_one in errors and "has ended" in errors, errors
        elif how == "raise":
            assert status == 1 and "too early" in errors, errors


@pytest.mark.parametrize("repeats", [[5, 3], [3, 6, 5]])
def test_input_that_ends_first_ends_all_with_a_last_checkpoint(tmp_path, repeats):
    found = ended(started(tmp_path, len(repeats), repeats))
    assert [status for status, _ in found] == [0] * len(repeats), found
    for number, (_, errors) in enumerate(found):
        if repeats[number] > 3:
            assert f"the input of {TASK % repeats.index(3)} has ended" in errors, errors
    assert tf.train.load_variable(str(tmp_path / "model"), "global_step") == 3


def test_folders_that_are_not_shared_are_found_out(tmp_path):
    assert [status for status, _ in ended(started(tmp_path, 2, most=4))] == [0, 0]
    soon = "from thalweg.distribute import starting_step\nstarting_step._LOOKS = 2\n"
    for status, errors in ended(started(tmp_path, 2, most=8, folders=["model", "other"], before=soon)):
        assert status == 1 and "worker 0 begins at step 4, worker 1 has no checkpoint" in errors, errors
        assert "one folder that all of them see" in errors


# ---- several workers in this process ----
@pytest.fixture(name="servers", scope="module")
def started_servers():
    with local_servers(3) as servers:
        yield servers


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_step_that_fails_in_one_worker_fails_in_all_for_its_reason(servers, failing):
    """The first one in which they meet, too; then they meet again."""
    begins = threading.Barrier(3)

    def program(i, strategy, config, target):
        fed = tf.placeholder(tf.float32, [2])
        total = strategy.reduce("SUM", tf.check_numerics(fed, "a bad number"))
        second = strategy.reduce("SUM", fed * 2.0)
        with tf.Session(target, config=config) as session:
            session.run(fed + 1.0, {fed: [1.0, 1.0]})
            begins.wait(240)  # what fails before a session is made is not that session's
            said = []
            for bad in (True, False, True, False):
                try:
                    values = session.run([total, second], {fed: [1.0, float("nan") if bad and i == failing else 2.0]})
                    said.append([value.tolist() for value in values])
                except tf.errors.InvalidArgumentError as error:
                    assert "a bad number" in error.message, error
                    assert i == failing or f"failed on {TASK % failing}" in error.message, error
                    said.append("failed")
            return said
    good = [[3.0, 6.0], [6.0, 12.0]]
    assert each_worker(servers, program) == [["failed", good, "failed", good]] * 3


def test_what_failed_for_older_sessions_fails_no_newer_one(servers):
    """A worker's step fails that the others do not begin; programs that come later meet."""
    fails = threading.Barrier(3)

    def program(i, strategy, config, target):
        fed = tf.placeholder(tf.float32, [2])
        total = strategy.reduce("SUM", tf.check_numerics(fed, "a bad number"))
        with tf.Session(target, config=config) as session:
            session.run(total, {fed: [1.0, 2.0]})
            fails.wait(240)
            if i == 1:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(total, {fed: [1.0, float("nan")]})
            fails.wait(240)
        with tf.Session(target, config=config) as session:
            return session.run(total, {fed: [1.0, 2.0]}).tolist()
    assert each_worker(servers, program) == [[3.0, 6.0]] * 3


def test_a_gather_of_no_rows_says_what_its_group_is(servers):
    def program(i, strategy, config, target):
        rows = tf.raw_ops.CollectiveGather(input=tf.zeros([0, 2]), group_size=3, group_key=1, instance_key=77, shape=[0, 2])
        with tf.Session(target, config=config) as session:
            return session.run(rows)
    for error in each_worker(servers, program):
        assert isinstance(error, tf.errors.UnimplementedError) and "TensorFlow" not in error.message, error
        assert "a group whose members are in several sessions" in error.message


@pytest.mark.parametrize(("imports", "server", "errors"), [
    ("import thalweg", "thalweg.train.Server", "thalweg.errors"),
    ("import thalweg", "thalweg.distribute.Server", "thalweg.errors"),
    ("from thalweg.cluster.server import Server; from thalweg import errors", "Server", "errors"),  # nothing of graphs is imported
])
def test_a_server_is_the_first_thing_that_fails_in_a_program(imports, server, errors):
    program = f"""
        {imports}
        try:
            {server}({{"worker": ["no-such-host.invalid:1"]}})
        except {errors}.OpError as error:
            print(type(error).__name__)
    """
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert found.returncode == 0 and found.stdout.strip().endswith("Error"), found.stderr
