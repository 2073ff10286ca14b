# SPDX-License-Identifier: Apache-2.0
"""Resolvers of clusters: values as TensorFlow 1.15 gives them, but where Slurm's own environment says more."""
import json
import types

import pytest
import thalweg as tf

resolvers = tf.distribute.cluster_resolver
SPEC = tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1", "c:2"]})


def test_a_cluster_that_the_program_knows():
    simple = resolvers.SimpleClusterResolver
    assert simple(SPEC).cluster_spec() == SPEC
    assert simple(SPEC).master() == "" and simple(SPEC, master="x").master() == "x"
    assert simple(SPEC, master="x", rpc_layer="grpc").master() == "grpc://x"
    assert simple(SPEC, task_type="worker", task_id=1).master() == ""
    assert simple(SPEC, master="q").master("worker", 0, "grpc") == "grpc://b:1"
    assert simple(SPEC).num_accelerators() == {} and simple(SPEC, num_accelerators={"GPU": 2}).num_accelerators() == {"GPU": 2}
    known = simple(SPEC)
    assert (known.environment, known.task_type, known.task_id, known.rpc_layer) == ("", None, None, None)
    with pytest.raises(ValueError, match="No task with index 7"):
        known.master("worker", 7)
    with pytest.raises(ValueError, match="No such job"):
        known.master("w", 0)
    with pytest.raises(TypeError, match="must be a ClusterSpec"):
        simple({"a": ["b:1"]})


def test_a_cluster_of_tf_config(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    found = resolvers.TFConfigClusterResolver()
    assert found.cluster_spec().as_dict() == {} and found.master() == ""
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": SPEC.as_dict(), "task": {"type": "worker", "index": "1"},
                                                "rpc_layer": "grpc"}))
    assert found.cluster_spec() == SPEC and found.master() == "grpc://c:2"
    assert (found.task_type, found.task_id, found.rpc_layer, found.environment) == ("worker", 1, "grpc", None)
    assert resolvers.TFConfigClusterResolver("ps", 0).master() == "grpc://a:1"
    assert resolvers.TFConfigClusterResolver("ps", 0, "http").master() == "http://a:1"
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["b:1"]}, "task": {"type": "worker", "index": 0}}))
    assert found.master() == ""
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 0}}))
    assert found.master() == "b:1"
    monkeypatch.setenv("TF_CONFIG", "{")
    with pytest.raises(ValueError, match="Expecting property name"):
        found.cluster_spec()


def test_several_clusters_are_one():
    simple, union = resolvers.SimpleClusterResolver, resolvers.UnionResolver
    first = simple(tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1"]}), task_type="ps", task_id=0, rpc_layer="grpc")
    both = union(first, simple(tf.train.ClusterSpec({"worker": ["c:2"]})))
    assert both.cluster_spec() == SPEC and both.master() == "grpc://" and both.master("worker", 1) == "grpc://c:2"
    assert (both.task_type, both.task_id, both.rpc_layer, both.environment) == ("ps", 0, "grpc", "")
    third = simple(tf.train.ClusterSpec({"worker": {3: "c:2"}}))
    assert union(first, third).cluster_spec().as_dict() == {"ps": ["a:1"], "worker": {0: "b:1", 3: "c:2"}}
    with pytest.raises(KeyError, match="Duplicate keys"):
        union(third, third).cluster_spec()
    with pytest.raises(TypeError, match="sub-class"):
        union(1)
    with pytest.raises(ValueError, match="At least one"):
        union()
    assert tf.contrib.cluster_resolver.UnionClusterResolver is union


def slurm(monkeypatch, **variables):
    for name in ("PROCID", "STEP_NODELIST", "STEP_NUM_TASKS", "STEP_TASKS_PER_NODE"):
        monkeypatch.setenv("SLURM_" + name, variables[name])


def test_tasks_that_slurm_started(monkeypatch):
    slurm(monkeypatch, PROCID="1", STEP_NODELIST="n[1-2]", STEP_NUM_TASKS="3", STEP_TASKS_PER_NODE="2,1")
    found = resolvers.SlurmClusterResolver({"ps": 1, "worker": 2}, port_base=9000)
    assert found.cluster_spec().as_dict() == {"ps": ["n1:9000"], "worker": ["n1:9001", "n2:9000"]}
    assert found.get_task_info() == ("worker", 0) and found.master() == "grpc://n1:9001"
    assert found.master("ps", 0) == "grpc://n1:9000"
    slurm(monkeypatch, PROCID="5", STEP_NODELIST="rack[09-10]-a[3,7],gate", STEP_NUM_TASKS="9", STEP_TASKS_PER_NODE="2(x4),1")
    found = resolvers.SlurmClusterResolver({"ps": 1, "worker": 8})
    assert found.cluster_spec().as_dict()["worker"] == [
        "rack09-a3:8889", "rack09-a7:8888", "rack09-a7:8889", "rack10-a3:8888", "rack10-a3:8889", "rack10-a7:8888",
        "rack10-a7:8889", "gate:8888"]
    assert found.get_task_info() == ("worker", 4)
    with pytest.raises(RuntimeError, match="Requested more tasks"):
        resolvers.SlurmClusterResolver({"ps": 1, "worker": 9})
    with pytest.raises(RuntimeError, match="no place for task 0"):
        resolvers.SlurmClusterResolver({"worker": 9}, tasks_per_node=0)
    for name, value in (("STEP_NODELIST", "n[a-2]"), ("STEP_TASKS_PER_NODE", "2(x")):
        with monkeypatch.context() as changed:
            changed.setenv("SLURM_" + name, value)
            with pytest.raises(ValueError, match="as Slurm writes them"):
                resolvers.SlurmClusterResolver({"worker": 1})
    monkeypatch.delenv("SLURM_PROCID")
    with pytest.raises(RuntimeError, match="srun"):
        resolvers.SlurmClusterResolver({"worker": 1})


class Pods:
    """CoreV1Api as far as it is asked."""

    def __init__(self, pods):
        self._pods = pods

    def list_pod_for_all_namespaces(self, label_selector=None):
        names = types.SimpleNamespace
        return names(items=[names(metadata=names(name=name), status=names(phase=phase, host_ip=address))
                            for name, phase, address in self._pods[label_selector]])


def test_pods_that_kubernetes_runs():
    client = Pods({"w": [("w-0", "Running", "10.0.0.1"), ("w-1", "Running", "10.0.0.2")], "p": [("p-0", "Running", "10.0.0.3")],
                   "late": [("late-0", "Pending", None)], "job-name=tensorflow": []})
    found = resolvers.KubernetesClusterResolver({"worker": ["w"], "ps": ["p"]}, 2222, override_client=client)
    assert found.cluster_spec().as_dict() == {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"], "ps": ["10.0.0.3:2222"]}
    assert found.master() == "" and found.master("ps", 0) == "grpc://10.0.0.3:2222"
    assert found.master("ps", 0, "http") == "http://10.0.0.3:2222"
    assert resolvers.KubernetesClusterResolver(override_client=client).cluster_spec().num_tasks("worker") == 0
    with pytest.raises(RuntimeError, match='"late-0" is not running; phase: "Pending"'):
        resolvers.KubernetesClusterResolver({"worker": ["w", "late"]}, override_client=client).cluster_spec()


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="TPU"):
        resolvers.TPUClusterResolver("grpc://10.0.0.1")
    with pytest.raises(NotImplementedError, match="SimpleClusterResolver"):
        resolvers.GCEClusterResolver("p", "z", "g", 1)
