# SPDX-License-Identifier: Apache-2.0
"""Which task of a cluster this process is, as the variable TF_CONFIG says, and what its sessions and variables take of that."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.cluster.server import ClusterSpec
from thalweg.distribute.multi_worker import MultiWorkerMirroredStrategy, own_server, worker_of
from thalweg.training.replica_devices import replica_device_setter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.cluster.server import Server
    from thalweg.estimator.run_config import RunConfig
    from thalweg.graph.tensor import Operation
    from thalweg.messages import ConfigProto

MASTER, CHIEF, WORKER, PS, EVALUATOR = "master", "chief", "worker", "ps", "evaluator"
SESSION_MASTER, EVALUATION_MASTER = "session_master", "eval_session_master"

Task = collections.namedtuple("Task", "cluster_spec task_type task_id master evaluation_master is_chief num_ps_replicas "
                              "num_worker_replicas global_id_in_cluster")


def of(config: dict[str, Any], strategy: object = None) -> Task:
    """The task that a TF_CONFIG describes, where training has this strategy; ValueError where none can be that."""
    spec = ClusterSpec(config.get("cluster") or {})
    if not spec:
        return _alone(spec, config)
    if isinstance(strategy, MultiWorkerMirroredStrategy):
        return _in_step(spec, config)
    kind, number = _named(spec, config)
    if kind == EVALUATOR:  # it is in no cluster: it sees what others train in their checkpoints only
        return Task(ClusterSpec({}), kind, number, "", config.get(EVALUATION_MASTER, ""), False, 0, 0, None)
    chief = MASTER if MASTER in spec.jobs else CHIEF
    return Task(spec, kind, number, _target(spec, kind, number, config), config.get(EVALUATION_MASTER, ""), kind == chief, _count(spec, PS),
                _count(spec, WORKER) + 1, _global_number(spec, chief, kind, number))


def _in_step(spec, config):
    """A worker of those that train in step; without a task of job "chief" the first of them is the chief."""
    task = config.get("task") or {}
    kind, number = task.get("type"), None if task.get("index") is None else int(task["index"])
    worker = worker_of(spec, kind, number)
    if kind == EVALUATOR:
        return Task(ClusterSpec({}), kind, number, "", config.get(EVALUATION_MASTER, ""), False, 0, 0, None)
    trains = ClusterSpec({job: tasks for job, tasks in spec.as_dict().items() if job != EVALUATOR})
    target = config.get(SESSION_MASTER) or f"{config.get('rpc_layer') or 'grpc'}://{spec.task_address(kind, number)}"
    return Task(trains, kind, number, target, config.get(EVALUATION_MASTER, ""), worker.is_chief, _count(spec, PS), worker.count, worker.number)


def _alone(spec, config):
    task = config.get("task") or {}
    if task.get("type", WORKER) != WORKER:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
    if int(task.get("index", 0)) != 0:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')
    return Task(spec, WORKER, 0, config.get(SESSION_MASTER, ""), config.get(EVALUATION_MASTER, ""), True, 0, 1, 0)


def _named(spec, config):
    """(job, number) of this process in a cluster with a chief."""
    task = config.get("task") or {}
    chief = MASTER if MASTER in spec.jobs else CHIEF
    if chief not in spec.jobs:
        raise ValueError('If "cluster" is set in TF_CONFIG, it must have one "chief" node.')
    if chief == MASTER and CHIEF in spec.jobs:
        raise ValueError("If `master` node exists in `cluster`, job `chief` is not supported.")
    if _count(spec, chief) > 1:
        raise ValueError(f'The "cluster" in TF_CONFIG must have only one "{chief}" node.')
    if not task.get("type"):
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if task.get("index") is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
    kind, number = task["type"], int(task["index"])
    if number < 0:
        raise ValueError("Task index must be non-negative number.")
    if kind != EVALUATOR and (kind not in spec.jobs or number not in spec.task_indices(kind)):
        what = f"{kind} is not a valid task_type" if kind not in spec.jobs else f"{number} is not a valid task_id for task_type {kind}"
        by_name = ClusterSpec(dict(sorted(spec.as_dict().items())))
        raise ValueError(f"{what} in the cluster_spec:\n{by_name}\n\nNote that these values may be coming from the TF_CONFIG environment "
                         "variable.")
    return kind, number


def _count(spec, job):
    return spec.num_tasks(job) if job in spec.jobs else 0


def _target(spec, kind, number, config):
    """The target of this task's sessions: this process itself where the cluster is one task."""
    if SESSION_MASTER in config:
        return config[SESSION_MASTER]
    if sum(map(spec.num_tasks, spec.jobs)) == 1 and len(spec.jobs) == 1:
        return ""
    return f"{config.get('rpc_layer') or 'grpc'}://{spec.task_address(kind, number)}"


def _global_number(spec, chief, kind, number):
    """Numbers go on from the chief to the workers, the parameter servers, and other jobs by name."""
    first = [chief, WORKER, PS]
    order = [job for job in first if job in spec.jobs] + sorted(job for job in spec.jobs if job not in first)
    return sum(map(spec.num_tasks, order[:order.index(kind)])) + number


def session_config(task: Task) -> ConfigProto | None:
    """A session of a cluster sees its own task and the parameter servers only, so that the end of another worker does not matter."""
    mine = {MASTER: ["/job:ps", "/job:master"], CHIEF: ["/job:ps", "/job:chief"], WORKER: ["/job:ps", f"/job:worker/task:{task.task_id}"],
            PS: ["/job:ps", "/job:worker", "/job:chief", "/job:master"]}
    if not task.cluster_spec or task.task_type not in mine:
        return None
    return messages.ConfigProto(allow_soft_placement=True, device_filters=mine[task.task_type])


def variables_on_servers(config: RunConfig) -> Callable[[Operation], str] | None:
    """The device function of a task that trains: variables on the parameter servers in turn, all else on the task."""
    if config.num_ps_replicas == 0:
        return None
    return replica_device_setter(ps_tasks=config.num_ps_replicas, worker_device=f"/job:{config.task_type}/task:{config.task_id}",
                                 cluster=config.cluster_spec)


def start_server(config: RunConfig, server_config: ConfigProto | None = None) -> Server:
    """The server of this task, which others find at the address that the cluster has for it: one of a process, however often it trains. Its
    sessions bring their own filters. One whose `server_config` names a leader tells the other workers that it is there."""
    if not config.cluster_spec or not config.task_type or config.task_id is None:
        raise RuntimeError("Could not start server; be sure to specify cluster_spec, task_type, and task in RunConfig or set the TF_CONFIG "
                           "environment variable.")
    return own_server(config.cluster_spec, config.task_type, config.task_id, config.protocol, server_config)
