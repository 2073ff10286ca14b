# SPDX-License-Identifier: Apache-2.0
"""Estimators in clusters of TF_CONFIG: what a RunConfig reads, where variables lie, and whole trainings, one process a task."""
import json
import os
import subprocess
import sys
import textwrap

import distribution_cases as cases
import pytest
import thalweg as tw
from thalweg.cluster.local_cluster import free_ports

RECORDED = cases.recorded()


@pytest.mark.parametrize("name", ["run_configs", "devices", "ready_made_models"])
def test_as_recorded(name):
    assert json.loads(json.dumps(cases.CASES[name](tw))) == RECORDED[name]


def test_what_a_replaced_config_says_of_its_task(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps(cases.task("worker", 1)))
    config = tw.estimator.RunConfig().replace(model_dir="here", protocol="grpc")
    assert (config.task_type, config.task_id, config.master, config.protocol) == ("worker", 1, "grpc://w1:1", "grpc")


def test_a_folder_that_tf_config_names_otherwise(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"model_dir": "/here"}))
    assert tw.estimator.RunConfig().model_dir == "/here" and tw.estimator.RunConfig("/here").model_dir == "/here"
    with pytest.raises(ValueError, match="must have the same value in TF_CONFIG"):
        tw.estimator.RunConfig("/there")


PROGRAM = """
    import json, os, sys
    import numpy as np
    import tensorflow as tf

    draw = np.random.RandomState(1)
    features = {"x": draw.uniform(-1, 1, (200, 3)).astype(np.float32), "job": np.array(["cook", "clerk"])[draw.randint(0, 2, 200)]}
    labels = (features["x"].sum(1) > 0).astype(np.int32)
    fc = tf.feature_column
    job = fc.categorical_column_with_vocabulary_list("job", ["cook", "clerk"])
    columns = [fc.numeric_column("x", [3]), fc.embedding_column(job, 4)]
    def training():
        return tf.data.Dataset.from_tensor_slices((features, labels)).shuffle(200, seed=1).repeat().batch(20)
    measuring = tf.estimator.inputs.numpy_input_fn(features, labels, shuffle=False)
    config = tf.estimator.RunConfig(model_dir="model", tf_random_seed=1, save_checkpoints_steps=20, experimental_max_worker_delay_secs=0)
    seen = []
    class Places(tf.train.SessionRunHook):
        def begin(self):
            seen.extend((v.op.name, v.device) for v in tf.global_variables())
    receiver = fc.make_parse_example_spec([columns[0], job])
    exporter = tf.estimator.FinalExporter("final", tf.estimator.export.build_parsing_serving_input_receiver_fn(receiver))
    model = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=[job], dnn_feature_columns=columns, dnn_hidden_units=[8], config=config,
        dnn_optimizer=tf.train.AdagradOptimizer(0.5), input_layer_partitioner=tf.fixed_size_partitioner(2))
    result = tf.estimator.train_and_evaluate(
        model, tf.estimator.TrainSpec(training, max_steps=60, hooks=[Places()]),
        tf.estimator.EvalSpec(measuring, steps=None, start_delay_secs=0, throttle_secs=0, exporters=exporter))
    print(json.dumps({"task": [config.task_type, config.task_id], "places": dict(seen), "result": result}))
"""
ROLES = [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1), ("evaluator", 0)]


def cluster_of(roles):
    """Addresses of the tasks that are in the cluster, by job."""
    found, addresses = {}, iter(f"127.0.0.1:{port}" for port in free_ports(len(roles)))
    for job, _ in roles:
        if job != "evaluator":
            found.setdefault(job, []).append(next(addresses))
    return found


def run_tasks(tmp_path, program, roles, serve=()):
    """What the tasks say that end by themselves; parameter servers are ended when the others have. `serve`: jobs that `thalweg serve` serves."""
    path, cluster = tmp_path / "program.py", cluster_of(roles)
    path.write_text(textwrap.dedent(program))
    started = {}
    try:
        for job, index in roles:
            told = {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})}
            command = ["thalweg", "serve"] if job in serve else ["thalweg.as_tensorflow", str(path)]
            started[job, index] = subprocess.Popen([sys.executable, "-m", *command], cwd=tmp_path, text=True, env={**os.environ, **told},
                                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = []
        for (job, index), process in started.items():
            if job == "ps":
                continue
            out, errors = process.communicate(timeout=240)
            assert process.returncode == 0, f"{job} {index} ended with {process.returncode}:\n{errors[-3000:]}"
            said.append(json.loads(out.splitlines()[-1]))
        assert all(started[role].poll() is None for role in roles if role[0] == "ps"), "a parameter server serves until it is ended"
        return said
    finally:
        for process in started.values():
            process.kill()
            process.communicate()


def measured_at(folder, step):
    """The metrics of the last events of a folder, from a step on."""
    events = [event for name in sorted(os.listdir(folder)) for event in tw.train.summary_iterator(str(folder / name))]
    return {value.tag: value.simple_value for event in events if event.step >= step for value in event.summary.value}


@pytest.mark.parametrize("serve", [(), ("ps",)])
def test_a_ready_made_model_trains_over_parameter_servers(tmp_path, serve):
    said = run_tasks(tmp_path, PROGRAM, ROLES, serve)
    assert [each["result"] for each in said] == [None] * 4
    places = said[0]["places"]
    assert said[1]["places"] == said[2]["places"] == places and said[3]["places"] == {}
    assert set(places.values()) == {"/job:ps/task:0", "/job:ps/task:1"}
    embedding = "dnn/input_from_feature_columns/input_layer/job_embedding/embedding_weights/part_"
    assert {places[embedding + "0"], places[embedding + "1"]} == {"/job:ps/task:0", "/job:ps/task:1"}
    assert tw.train.load_variable(str(tmp_path / "model"), "global_step") >= 60
    assert len(os.listdir(tmp_path / "model" / "export" / "final")) == 1
    assert measured_at(tmp_path / "model" / "eval", 60)["accuracy"] > 0.8


def test_a_master_trains_and_measures(tmp_path):
    program = PROGRAM.replace("tf_random_seed=1", "train_distribute=tf.distribute.experimental.ParameterServerStrategy()")  # changes nothing
    said = run_tasks(tmp_path, program, [("master", 0), ("worker", 0), ("ps", 0)])
    assert set(said[0]["places"].values()) == {"/job:ps/task:0"}
    assert os.listdir(tmp_path / "model" / "eval") and os.listdir(tmp_path / "model" / "export" / "final")


@pytest.mark.parametrize("column, least", [('fc.bucketized_column(fc.numeric_column("y"), [-0.5, 0.0, 0.5])', 1.0),
                                           ('fc.numeric_column("y")', 0.9)])  # no quantile is 0 itself
def test_boosted_trees_grow_in_a_cluster(column, least, tmp_path):
    first, last = PROGRAM.index("    model = tf.estimator.DNN"), PROGRAM.index("    result = tf.estimator")
    program = (PROGRAM[:first] + """
    features = {"y": features["x"][:, :1]}
    labels = (features["y"][:, 0] > 0).astype(np.int32)
    measuring = tf.estimator.inputs.numpy_input_fn(features, labels, shuffle=False)
    column = COLUMN
    model = tf.estimator.BoostedTreesClassifier([column], n_batches_per_layer=1, n_trees=5, max_depth=2, config=config)
    exporter = None
""" + PROGRAM[last:]).replace("max_steps=60", "max_steps=10").replace("COLUMN", column)
    said = run_tasks(tmp_path, program, [("chief", 0), ("worker", 0), ("ps", 0), ("evaluator", 0)])
    assert set(said[0]["places"].values()) == {"/job:ps/task:0"}
    assert measured_at(tmp_path / "model" / "eval", 10)["accuracy"] >= least


@pytest.mark.parametrize(("job", "grows"), [("chief", True), ("worker", False)])
def test_the_chief_alone_grows_trees(monkeypatch, job, grows):
    monkeypatch.setenv("TF_CONFIG", json.dumps(cases.task(job, 0)))
    column = tw.feature_column.bucketized_column(tw.feature_column.numeric_column("y"), [0.0])
    model = tw.estimator.BoostedTreesClassifier([column], n_batches_per_layer=1, config=tw.estimator.RunConfig())
    seen = {}

    class Look(tw.train.SessionRunHook):
        def begin(self):
            seen.update((op.type, op.device) for op in tw.get_default_graph().get_operations())
            raise KeyError("stop here")
    with pytest.raises(KeyError):
        model.train(lambda: tw.data.Dataset.from_tensors(({"y": [[1.0]]}, [1])), hooks=[Look()])
    assert ("BoostedTreesUpdateEnsemble" in seen) == grows
    assert seen["ResourceConditionalAccumulator"].startswith("/job:ps/")


def test_sessions_are_of_the_targets_that_tf_config_names(tmp_path, monkeypatch):
    servers = [tw.train.Server.create_local_server() for _ in range(2)]
    monkeypatch.setenv("TF_CONFIG", json.dumps({"session_master": servers[0].target, "eval_session_master": servers[1].target}))
    targets = []

    class Targets(tw.train.SessionRunHook):
        def after_create_session(self, session, coord):
            targets.append(session.sess_str.decode())

    def model_fn(features, labels, mode):
        w = tw.get_variable("w", [], initializer=tw.zeros_initializer())
        loss = tw.reduce_sum(tw.square(features * w - labels))
        return tw.estimator.EstimatorSpec(mode, loss=loss, train_op=tw.train.GradientDescentOptimizer(0.1).minimize(
            loss, tw.train.get_global_step()))
    estimator = tw.estimator.Estimator(model_fn, str(tmp_path))
    estimator.train(lambda: (tw.ones([1]), tw.ones([1])), steps=2, hooks=[Targets()])
    estimator.evaluate(lambda: (tw.ones([1]), tw.ones([1])), steps=1, hooks=[Targets()])
    for server in servers:
        server.stop()
    assert targets == [server.target for server in servers]
