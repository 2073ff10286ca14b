# SPDX-License-Identifier: Apache-2.0
"""tf.distribute.cluster_resolver: clusters that somebody else has started, and which of their tasks this process is."""
from __future__ import annotations

import collections
import json
import os
import re
from typing import TYPE_CHECKING

from thalweg.cluster.server import ClusterSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.messages import ConfigProto


def _with_layer(layer, address):
    return f"{layer}://{address}" if layer else address


class ClusterResolver:
    """Base of those that know a cluster: cluster_spec() describes it as it is now, master() is a target for sessions."""

    environment = ""

    def cluster_spec(self) -> ClusterSpec:
        raise NotImplementedError("cluster_spec is not implemented for this ClusterResolver.")

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        raise NotImplementedError("master is not implemented for this ClusterResolver.")

    def num_accelerators(self, task_type: str | None = None, task_id: int | None = None,
                         config_proto: ConfigProto | None = None) -> dict[str, int]:
        """By kind: none here, kernels run on CPUs."""
        del task_type, task_id, config_proto
        return {}


class SimpleClusterResolver(ClusterResolver):
    """A cluster that the program knows."""

    def __init__(self, cluster_spec: ClusterSpec, master: str = "", task_type: str | None = None, task_id: int | None = None,
                 environment: str = "", num_accelerators: Mapping[str, int] | None = None, rpc_layer: str | None = None) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a ClusterSpec.")
        self._cluster_spec, self._master, self.rpc_layer = cluster_spec, master, rpc_layer
        self.task_type, self.task_id, self.environment = task_type, task_id, environment
        self._num_accelerators = num_accelerators

    def cluster_spec(self) -> ClusterSpec:
        return self._cluster_spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        if task_type is not None and task_id is not None:
            address = self._cluster_spec.task_address(task_type, task_id)
        else:
            address = self._master
        return _with_layer(rpc_layer or self.rpc_layer, address)

    def num_accelerators(self, task_type: str | None = None, task_id: int | None = None,
                         config_proto: ConfigProto | None = None) -> dict[str, int]:
        return dict(self._num_accelerators or {})


def config_of_environment() -> dict[str, Any]:
    """What the variable TF_CONFIG says; ValueError where it is no JSON object, or its cluster or task is none."""
    text = os.environ.get("TF_CONFIG") or "{}"
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"TF_CONFIG is not JSON: {error}: {text[:200]}") from None
    if not isinstance(found, dict):
        raise ValueError(f"TF_CONFIG must be a JSON object, got {text[:200]}")
    for name in ("cluster", "task"):
        if not isinstance(found.get(name) or {}, dict):
            raise ValueError(f"{name!r} of TF_CONFIG must be a JSON object, got {json.dumps(found[name])[:200]}")
    return found


class TFConfigClusterResolver(ClusterResolver):
    """The cluster of the environment's TF_CONFIG: {"cluster": {...}, "task": {"type": ..., "index": ...}}."""

    def __init__(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None,
                 environment: str | None = None) -> None:
        self._task_type, self._task_id, self._rpc_layer, self._environment = task_type, task_id, rpc_layer, environment

    def _task(self, field):
        return config_of_environment().get("task", {}).get(field)

    @property
    def task_type(self) -> str | None:
        value = self._task("type") if self._task_type is None else self._task_type
        return None if value is None else str(value)

    @property
    def task_id(self) -> int | None:
        value = self._task("index") if self._task_id is None else self._task_id
        return None if value is None else int(value)

    @property
    def rpc_layer(self) -> str | None:
        return config_of_environment().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @property
    def environment(self) -> str | None:
        return self._environment

    def cluster_spec(self) -> ClusterSpec:
        return ClusterSpec(config_of_environment().get("cluster", {}))

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Empty, which is this process, where the cluster has one task or none."""
        spec = self.cluster_spec()
        if sum(spec.num_tasks(job) for job in spec.jobs) <= 1:
            return ""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        return _with_layer(rpc_layer or self.rpc_layer, spec.task_address(task_type, task_id))


class UnionResolver(ClusterResolver):
    """Several clusters as one. Jobs of one name are joined; where both are lists, the second continues the first. The task is the
    first one's unless it is given."""

    def __init__(self, *args: ClusterResolver, **kwargs: object) -> None:
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._resolvers = args
        given = {name: kwargs.pop(name, None) for name in ("task_type", "task_id", "rpc_layer")}
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}")
        first = args[0]
        self.task_type, self.task_id, self.rpc_layer = (
            getattr(first, name, None) if value is None else value for name, value in given.items())

    @property
    def environment(self) -> str:
        return self._resolvers[0].environment

    def cluster_spec(self) -> ClusterSpec:
        jobs = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                jobs.setdefault(job, []).append(tasks)
        merged = {}
        for job, parts in jobs.items():
            if all(isinstance(part, list) for part in parts):
                merged[job] = [address for part in parts for address in part]
                continue
            merged[job] = {}
            for part in parts:
                part = dict(enumerate(part)) if isinstance(part, list) else part
                if twice := set(part) & set(merged[job]):
                    raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {twice!r}")
                merged[job].update(part)
        return ClusterSpec(merged)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """What the given task has; without one, what the first cluster says."""
        layer = rpc_layer or self.rpc_layer or ""
        if task_type is not None and task_id is not None:
            return _with_layer(layer, self.cluster_spec().task_address(task_type, task_id))
        return self._resolvers[0].master()

    def num_accelerators(self, task_type: str | None = None, task_id: int | None = None,
                         config_proto: ConfigProto | None = None) -> dict[str, int]:
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)


def _expand_hosts(text):
    """Names of Slurm's short form: "n[1-3,7],gate" is n1 n2 n3 n7 gate."""
    hosts = []
    for item in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", item)
        if match is None:
            hosts.append(item)
            continue
        before, numbers, after = match.groups()
        rest = _expand_hosts(after) if after else [""]
        for part in numbers.split(","):
            first, _, last = part.partition("-")
            if not (first.isdigit() and (last or first).isdigit()):
                raise ValueError(f"{text!r} is no list of hosts as Slurm writes them: {part!r} is no number or range")
            for number in range(int(first), int(last or first) + 1):
                hosts += [f"{before}{number:0{len(first)}d}{end}" for end in rest]
    return hosts


def _expand_counts(text):
    """Tasks of each host in Slurm's short form: "2(x3),1" is 2 2 2 1."""
    counts = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if match is None:
            raise ValueError(f"{text!r} are no numbers of tasks as Slurm writes them: expected as '2(x3),1'")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


class SlurmClusterResolver(ClusterResolver):
    """The tasks that srun started: `jobs` says how many of them have which name, in order. Tasks of one host get the ports
    `port_base`, `port_base` + 1 ... Hosts and numbers come from the step's environment; `tasks_per_node` overrides one of them."""

    def __init__(self, jobs: Mapping[str, int], port_base: int = 8888, gpus_per_node: int = 1, gpus_per_task: int = 1,
                 tasks_per_node: int | None = None, auto_set_gpu: bool = True, rpc_layer: str = "grpc") -> None:
        del gpus_per_node, gpus_per_task, auto_set_gpu  # kernels run on CPUs
        self._jobs = collections.OrderedDict(jobs)
        self._port_base, self._tasks_per_node, self.rpc_layer = port_base, tasks_per_node, rpc_layer
        self._rank = int(self._variable("PROCID"))
        self._spec = self._resolve()

    @staticmethod
    def _variable(*names):
        for name in names:
            if (value := os.environ.get(f"SLURM_{name}")) is not None:
                return value
        raise RuntimeError(f"SLURM_{names[0]} is not set: is this process a task that srun has started?")

    def _resolve(self):
        hosts = _expand_hosts(self._variable("STEP_NODELIST", "JOB_NODELIST", "NODELIST"))
        assigned = int(self._variable("STEP_NUM_TASKS", "NTASKS"))
        if sum(self._jobs.values()) > assigned:
            raise RuntimeError("Requested more tasks then assigned tasks.")
        if self._tasks_per_node is not None:
            counts = [self._tasks_per_node] * len(hosts)
        else:
            counts = _expand_counts(self._variable("STEP_TASKS_PER_NODE", "TASKS_PER_NODE"))
        places = iter([f"{host}:{self._port_base + i}" for host, count in zip(hosts, counts) for i in range(count)])
        self.task_type = self.task_id = None
        spec, rank = {}, 0
        for job, count in self._jobs.items():
            spec[job] = []
            for index in range(count):
                address = next(places, None)
                if address is None:
                    raise RuntimeError(f"{hosts} with {counts} tasks have no place for task {index} of job {job!r}")
                spec[job].append(address)
                if rank == self._rank:
                    self.task_type, self.task_id = job, index
                rank += 1
        return ClusterSpec(spec)

    def cluster_spec(self) -> ClusterSpec:
        return self._spec

    def get_task_info(self) -> tuple[str, int]:
        """(job, number) of this process; (None, None) where it is none of the named tasks."""
        return self.task_type, self.task_id

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        return _with_layer(rpc_layer or self.rpc_layer, self._spec.task_address(task_type, task_id))


class KubernetesClusterResolver(ClusterResolver):
    """Pods that carry labels: {"worker": ["job-name=worker"], "ps": [...]}. `override_client` answers
    list_pod_for_all_namespaces(label_selector=...), as CoreV1Api of the package `kubernetes`, which is used without it."""

    def __init__(self, job_to_label_mapping: Mapping[str, Sequence[str]] | None = None, tf_server_port: int = 8470,
                 rpc_layer: str = "grpc", override_client: object = None) -> None:
        self._labels = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._port, self.rpc_layer = tf_server_port, rpc_layer
        self._client = self._make_client() if override_client is None else override_client

    @staticmethod
    def _make_client():
        try:
            from kubernetes import client, config
        except ImportError as e:
            raise ImportError("KubernetesClusterResolver needs the package `kubernetes`, or override_client") from e
        config.load_kube_config()
        return client.CoreV1Api()

    def cluster_spec(self) -> ClusterSpec:
        spec = {}
        for job, selectors in self._labels.items():
            pods = [pod for selector in selectors
                    for pod in self._client.list_pod_for_all_namespaces(label_selector=selector).items]
            for pod in pods:
                if pod.status.phase != "Running":
                    raise RuntimeError(f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"')
            spec[job] = [f"{pod.status.host_ip}:{self._port}" for pod in pods]
        return ClusterSpec(spec)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        if task_type is None or task_id is None:
            return ""
        return _with_layer(rpc_layer or self.rpc_layer, self.cluster_spec().task_address(task_type, task_id))


class TPUClusterResolver(ClusterResolver):
    """A name that programs use where their flags ask for a TPU. There are no TPUs here: making one is an error.

    Parameters
    ----------
    tpu, zone, project, job_name, coordinator_name, coordinator_address, credentials, service, discovery_url
        As in TensorFlow; they are not used.

    Raises
    ------
    NotImplementedError
        Always.

    Examples
    --------
    >>> try:
    ...     tw.contrib.cluster_resolver.TPUClusterResolver("my-tpu")
    ... except NotImplementedError:
    ...     print("no TPU here")
    no TPU here
    """

    def __init__(self, tpu: str | None = None, zone: str | None = None, project: str | None = None, job_name: str = "worker",
                 coordinator_name: str | None = None, coordinator_address: str | None = None, credentials: object = "default",
                 service: object = None, discovery_url: str | None = None) -> None:
        raise NotImplementedError(f"TPUClusterResolver({tpu!r}): there is no TPU here; without one the same program runs on the CPU "
                                  "(use_tpu=False)")


class GCEClusterResolver(ClusterResolver):
    """Not there: it asks a cloud's own interface."""

    def __init__(self, project: str, zone: str, instance_group: str, port: int, task_type: str = "worker", task_id: int = 0,
                 rpc_layer: str = "grpc", credentials: object = "default", service: object = None) -> None:
        raise NotImplementedError(f"GCEClusterResolver({instance_group!r}): not implemented; SimpleClusterResolver takes the addresses")
