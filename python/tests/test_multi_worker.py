# SPDX-License-Identifier: Apache-2.0
"""Workers that train in step, one process each: as 1.15 recorded it and as one worker computes it; what they leave, and what ends them."""
import json
import os
import signal
import subprocess
import sys
import textwrap

import multi_worker_cases as cases
import numpy as np
import pytest
import thalweg as tf
from multi_worker_threads import each_worker, local_servers
from thalweg.cluster.local_cluster import free_ports

RECORDED = cases.recorded()
OURS = [sys.executable, "-m", "thalweg.as_tensorflow"]


def close(value):
    """The value, with floats that may differ in their last digits."""
    if isinstance(value, dict):
        return {name: close(item) for name, item in value.items()}
    if isinstance(value, list):
        return pytest.approx(value, rel=1e-6, abs=1e-6) if value and all(isinstance(v, float) for v in value) else [close(v) for v in value]
    return pytest.approx(value, rel=1e-6, abs=1e-6) if isinstance(value, float) else value


@pytest.mark.parametrize(("case", "count"), cases.IN_STEP)
def test_workers_as_recorded(case, count):
    found = cases.said(cases.started(OURS, [cases.__file__, case, ""], cases.workers(count), free_ports(count)))
    assert found == close(RECORDED[f"{case} {count}"])
    if case in cases.OPTIMIZERS:  # one worker that has the whole batch computes the same
        alone = cases.trained(tf, None, case)
        assert alone["nodes"] == []
        for worker in found:
            assert [worker["losses"], worker["values"], worker["step"]] == close([alone["losses"], alone["values"], alone["step"]])
        np.testing.assert_allclose(np.sum([worker["rows"] for worker in found], 0), alone["rows"], 1e-6, 1e-6)


def test_an_estimator_as_recorded(tmp_path):
    """The chief alone leaves checkpoints, those with what all have moved; the evaluator measures; contexts of input are the workers'."""
    found = cases.said(cases.started(OURS, [cases.__file__, "estimator", str(tmp_path)], cases.TASKS, free_ports(3)))
    assert found == RECORDED["estimator"]
    assert cases.left_in(tf, str(tmp_path)) == close(RECORDED["left"])
    assert [name for name in os.listdir(tmp_path) if name.startswith("tmp")] == []


PROGRAM = """
    import json, os, sys
    import tensorflow as tf

    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    def model_fn(features, labels, mode):
        w = tf.get_variable("w", initializer=1.0)
        loss = tf.reduce_mean(tf.square(features * w - labels))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.train.GradientDescentOptimizer(0.01).minimize(
            loss, tf.train.get_global_step()))
    def inputs():
        return tf.data.Dataset.from_tensor_slices(([1.0, 2.0], [3.0, 6.0])).repeat(REPEATS).batch(2)
    class Told(tf.train.SessionRunHook):
        steps = 0
        def after_run(self, run_context, run_values):
            self.steps += 1
            print(self.steps, flush=True)
    config = tf.estimator.RunConfig(FOLDER, train_distribute=strategy, save_checkpoints_steps=SAVES, session_config=CONFIG)
    for most in TWICE:
        tf.estimator.train_and_evaluate(tf.estimator.Estimator(model_fn, config=config),
                                        tf.estimator.TrainSpec(inputs, hooks=[Told()], max_steps=most), tf.estimator.EvalSpec(inputs))
"""


def program(path, repeats=None, most=(None,), saves=1000, config=None):
    text = textwrap.dedent(PROGRAM)
    for name, value in {"REPEATS": repeats, "TWICE": most, "FOLDER": repr(str(path / "model")), "SAVES": saves, "CONFIG": config}.items():
        text = text.replace(name, str(value))
    (path / "program.py").write_text(text)
    return [str(path / "program.py")]


def ended(process, seconds=240):
    """(exit status, what it said to stderr)."""
    _, errors = process.communicate(timeout=seconds)
    return process.returncode, errors


@pytest.mark.parametrize(("count", "killed"), [(2, 1), (2, 0), (3, 2)])
def test_a_killed_worker_ends_the_others(tmp_path, count, killed):
    workers = cases.started(OURS, program(tmp_path), cases.workers(count), free_ports(count))
    try:
        assert workers[killed].stdout.readline() == "1\n"
        workers[killed].kill()
        for i, worker in enumerate(workers):
            if i != killed:
                status, errors = ended(worker)
                assert status == 1
                assert "Collective" in errors and f"/job:worker/replica:0/task:{killed}" in errors[errors.index("UnavailableError"):], errors
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def test_a_worker_that_stands_still_is_not_waited_for_without_end(tmp_path):
    config = "tf.ConfigProto(operation_timeout_in_ms=10000)"
    workers = cases.started(OURS, program(tmp_path, config=config), cases.workers(2), free_ports(2))
    try:
        assert workers[1].stdout.readline() == "1\n"
        os.kill(workers[1].pid, signal.SIGSTOP)
        status, errors = ended(workers[0])
        assert status == 1 and "DeadlineExceededError" in errors, errors
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def test_input_that_ends_ends_all(tmp_path):
    workers = cases.started(OURS, program(tmp_path, repeats=3), cases.workers(2), free_ports(2))
    assert [ended(worker)[0] for worker in workers] == [0, 0]
    assert tf.train.load_variable(str(tmp_path / "model"), "global_step") == 3


@pytest.mark.parametrize("runs", [[(4,), (6,)], [(4, 6)]], ids=["processes", "one_process"])
def test_all_begin_again_where_the_chief_has_saved(tmp_path, runs):
    for most in runs:
        workers = cases.started(OURS, program(tmp_path, most=most, saves=2), cases.workers(2), free_ports(2))
        said = [worker.communicate(timeout=240) for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0], said
        steps = [step for end in most for step in ((1, 2, 3, 4) if end == 4 else (1, 2))]
        assert [out.split() for out, _ in said] == [[str(step) for step in steps]] * 2
    assert tf.train.load_variable(str(tmp_path / "model"), "global_step") == 6


def test_the_chief_may_come_last(tmp_path):
    ports = free_ports(2)
    told = {"cluster": {"worker": [f"127.0.0.1:{port}" for port in ports]}}
    waits = textwrap.dedent("""
        import sys
        sys.argv = [sys.argv[0], "sgd", ""]
        import tensorflow as tf
        import multi_worker_cases as cases
        run = tf.Session.run
        tf.Session.run = lambda *args, **kwargs: (print("runs", flush=True), run(*args, **kwargs))[1]
        cases.run(tf, "sgd", "")
    """)
    (tmp_path / "program.py").write_text(waits)

    def start(index):
        return subprocess.Popen([*OURS, str(tmp_path / "program.py")], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={
            **os.environ, "TF_CONFIG": json.dumps(dict(told, task={"type": "worker", "index": index})),
            "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), os.path.dirname(cases.__file__)])})
    second = start(1)
    try:
        assert second.stdout.readline() == "runs\n", second.stderr.read()
        first = start(0)
        assert cases.said([first])[0]["losses"] == close(RECORDED["sgd 2"][0]["losses"])
        assert cases.said([second])[0]["losses"] == close(RECORDED["sgd 2"][1]["losses"])
    finally:
        second.kill()
        second.communicate()


# ---- several workers in this process ----
@pytest.fixture(name="servers", scope="module")
def started_servers():
    with local_servers(2) as servers:
        yield servers


def test_graphs_that_differ(servers):
    """What one worker adds to its own graph, and fetches by itself, does not keep it from the steps of all."""
    def program(i, strategy, config, target):
        v = tf.get_variable("v", initializer=[1.0 + i, 2.0])
        if i:
            for _ in range(3):
                v = v + 1.0 - 1.0
        total = strategy.reduce("SUM", v * 2.0)
        largest = tf.reduce_max(total)
        with tf.Session(target, config=config) as session:
            session.run(tf.global_variables_initializer())
            if i:
                assert session.run(v).tolist() == [1.0, 2.0]
            return [session.run(total if i else [total, largest])[0].tolist() if i == 0 else session.run(total).tolist() for _ in range(3)]
    assert each_worker(servers, program) == [[[4.0, 8.0]] * 3] * 2


def test_a_scope_within_itself_begins_with_the_chiefs_values(servers):
    def program(i, strategy, config, target):
        with strategy.scope():
            v = tf.get_variable("v", initializer=[1.0 + i, 2.0])
        with tf.Session(target, config=config) as session:
            session.run(tf.global_variables_initializer())
            return session.run(v).tolist()
    assert each_worker(servers, program) == [[1.0, 2.0]] * 2


def test_gradients_go_through_an_all_reduce(servers):
    """As in 1.15: the sum of what comes to the sum in each worker."""
    def program(i, strategy, config, target):
        def step():
            v = tf.constant([1.0 + i, 2.0 + 2 * i])
            return tf.gradients(tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, v) * v, v)[0]
        gradient = strategy.experimental_local_results(strategy.experimental_run_v2(step))[0]
        with tf.Session(target, config=config) as session:
            return session.run(gradient).tolist()
    assert each_worker(servers, program) == [[6.0, 12.0]] * 2


def test_rows_of_unknown_number_are_refused(servers):
    def program(i, strategy, config, target):
        table = tf.get_variable("table", initializer=[[1.0], [2.0]], use_resource=True)

        def step():
            rows = tf.nn.embedding_lookup(table, tf.placeholder(tf.int32, [None]))
            return tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(rows))
        return strategy.experimental_run_v2(step)
    for error in each_worker(servers, program):
        assert isinstance(error, ValueError) and "drop_remainder" in str(error), error


def test_a_variable_of_unknown_shape_is_refused(servers):
    def program(i, strategy, config, target):
        return tf.Variable(tf.placeholder(tf.float32, [None]), validate_shape=False)
    for error in each_worker(servers, program):
        assert isinstance(error, ValueError) and "known shape" in str(error), error


def test_configure_makes_it_a_workers():
    strategy = tf.contrib.distribute.CollectiveAllReduceStrategy()
    assert strategy.num_replicas_in_sync == 1 and strategy.extended.worker_devices == ("/device:CPU:0",)
    config = tf.ConfigProto(device_filters=["/job:ps"])
    strategy.configure(config, {"chief": ["a:1"], "worker": ["b:1", "c:1"], "evaluator": ["d:1"]}, "worker", 1)
    assert strategy.num_replicas_in_sync == 3 and not strategy.extended.should_checkpoint
    assert strategy.extended.worker_devices == ("/job:worker/replica:0/task:1/device:CPU:0",)
    assert config.experimental.collective_group_leader == "/job:chief/replica:0/task:0"
    assert list(config.device_filters) == ["/job:worker/task:1"]
    strategy.configure(None, {"worker": ["b:1", "c:1"], "evaluator": ["d:1"]}, "evaluator", 0)
    assert strategy.num_replicas_in_sync == 1 and strategy.extended.should_checkpoint


CLUSTER = {"worker": ["a:1", "b:1"]}


@pytest.mark.parametrize(("told", "message"), [
    ({"cluster": CLUSTER}, "not which of its tasks this process is"),
    ({"cluster": CLUSTER, "task": {"type": "worker"}}, "not which of its tasks this process is"),
    ({"cluster": CLUSTER, "task": {"type": "worker", "index": 2}}, "task 2 of job 'worker', which is none of the cluster's: 2 of job 'worker'"),
    ({"cluster": CLUSTER, "task": {"type": "chief", "index": 0}}, "task 0 of job 'chief', which is none of the cluster's"),
    ({"cluster": dict(CLUSTER, ps=["p:1"]), "task": {"type": "ps", "index": 0}}, "job 'ps' trains nothing under MultiWorkerMirroredStrategy"),
    ({"cluster": dict(CLUSTER, master=["m:1"]), "task": {"type": "worker", "index": 0}}, "got 1 of job 'master', 2 of job 'worker'"),
    ([1], r"TF_CONFIG must be a JSON object, got \[1\]"),
    ({"cluster": ["a:1"]}, r"'cluster' of TF_CONFIG must be a JSON object, got \[\"a:1\"\]"),
    ({"cluster": dict(CLUSTER, chief=["c:1", "d:1"]), "task": {"type": "worker", "index": 0}}, "at most one task of job 'chief', got 2"),
])
def test_a_cluster_that_has_no_such_worker(monkeypatch, told, message):
    monkeypatch.setenv("TF_CONFIG", json.dumps(told))
    with pytest.raises(ValueError, match=message):
        tf.distribute.experimental.MultiWorkerMirroredStrategy()


def test_a_configuration_that_is_no_json(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{worker")
    for made in (tf.distribute.experimental.MultiWorkerMirroredStrategy, tf.estimator.RunConfig):
        with pytest.raises(ValueError, match="TF_CONFIG is not JSON: .*{worker"):
            made()


def test_what_configurations_say(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER, "task": {"type": "worker", "index": 1}}))
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    config = tf.estimator.RunConfig("here", train_distribute=strategy)
    assert [config.task_type, config.task_id, config.is_chief, config.master, config.num_worker_replicas, config.num_ps_replicas,
            config.global_id_in_cluster] == ["worker", 1, False, "grpc://b:1", 2, 0, 1]
    estimator = tf.estimator.Estimator(lambda features: None, config=config)
    with pytest.raises(ValueError, match="train_and_evaluate trains, not Estimator.train"):
        estimator.train(lambda: None, steps=1)
    with pytest.raises(NotImplementedError, match="measures in one process"):
        tf.estimator.Estimator(lambda features: None, config=tf.estimator.RunConfig(
            "here", train_distribute=strategy, eval_distribute=strategy)).evaluate(lambda: None)
    with pytest.raises(ValueError, match="CollectiveCommunication"):
        tf.distribute.experimental.MultiWorkerMirroredStrategy("ring")
