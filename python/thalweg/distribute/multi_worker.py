# SPDX-License-Identifier: Apache-2.0
"""MultiWorkerMirroredStrategy: a replica in each worker's own program, variables and gradients kept alike by collective operations."""
from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from thalweg.cluster.cluster_resolver import TFConfigClusterResolver
from thalweg.cluster.server import ClusterSpec, Server
from thalweg.distribute import agreement, inputs
from thalweg.distribute.collectives import WorkerGroup
from thalweg.distribute.reductions import CollectiveCommunication, ReduceOp
from thalweg.distribute.strategy import Strategy, StrategyExtended
from thalweg.distribute.values import DistributedVariable, Mirrored, MirroredVariable, PerReplica
from thalweg.graph import graph, ops
from thalweg.graph.tensor import IndexedSlices
from thalweg.messages import ConfigProto

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from thalweg.cluster.cluster_resolver import ClusterResolver
    from thalweg.data.dataset import Dataset

CHIEF, WORKER, EVALUATOR, PS = "chief", "worker", "evaluator", "ps"

_servers: dict[tuple[Any, ...], Server] = {}  # by task; they serve until the process ends


def own_server(spec: ClusterSpec, job: str, task: int, protocol: str | None, config: ConfigProto | None) -> Server:
    """The server of the task that this process is, at the address that the cluster has for it: one, however often it trains."""
    key = json.dumps(spec.as_dict(), sort_keys=True), job, task
    if key not in _servers:
        _servers[key] = Server(spec, job_name=job, task_index=task, protocol=protocol, config=config)
    return _servers[key]


class Worker(NamedTuple):
    """Which of the workers this process is."""

    job: str
    task: int
    count: int  # of workers; an evaluator is alone
    number: int  # among them, the chief first
    leader: str  # the task that the others find each other by; "" where there are no others

    @property
    def device(self) -> str:
        return f"/job:{self.job}/replica:0/task:{self.task}/device:CPU:0"

    @property
    def filter(self) -> str:
        return f"/job:{self.job}/task:{self.task}"

    @property
    def is_chief(self) -> bool:
        return self.number == 0


def worker_of(spec: ClusterSpec, job: str | None, task: int | None) -> Worker | None:
    """The worker that a task of a cluster is; None without a cluster. ValueError for a task that is none."""
    tasks = {name: spec.task_indices(name) for name in spec.jobs if spec.num_tasks(name)}
    if not tasks:
        return None
    if job is None or task is None:
        raise ValueError(f"a cluster of {_jobs(tasks)} is given, but not which of its tasks this process is: TF_CONFIG needs "
                         '"task": {"type": ..., "index": ...}')
    if job not in (CHIEF, WORKER, EVALUATOR):
        raise ValueError(f"a task of job {job!r} trains nothing under MultiWorkerMirroredStrategy: its workers are the jobs 'chief' and 'worker', "
                         "and variables are on each of them")
    if set(tasks) - {CHIEF, WORKER, EVALUATOR, PS}:
        raise ValueError(f"a cluster of MultiWorkerMirroredStrategy has the jobs 'chief', 'worker', 'evaluator' and 'ps', got {_jobs(tasks)}")
    for single in (CHIEF, EVALUATOR):
        if len(tasks.get(single, ())) > 1:
            raise ValueError(f"a cluster has at most one task of job {single!r}, got {len(tasks[single])}")
    if job == EVALUATOR:
        return Worker(job, task, 1, 0, "")
    if task not in tasks.get(job, ()):
        raise ValueError(f"this process is task {task} of job {job!r}, which is none of the cluster's: {_jobs(tasks)}")
    chiefs = len(tasks.get(CHIEF, ()))
    order = [*((CHIEF, t) for t in tasks.get(CHIEF, ())), *((WORKER, t) for t in sorted(tasks.get(WORKER, ())))]
    leader = CHIEF if chiefs else WORKER
    return Worker(job, task, len(order), order.index((job, task)), f"/job:{leader}/replica:0/task:{order[0][1]}")


def _jobs(tasks):
    return ", ".join(f"{len(numbers)} of job {job!r}" for job, numbers in sorted(tasks.items()))


class MultiWorkerMirroredStrategy(Strategy):
    """A replica in each worker of a cluster: every worker runs this program with a graph and a session of its own, has a part of each variable,
    which begins as the chief's, and gradients of all are summed before each update.

    Parameters
    ----------
    communication : CollectiveCommunication, optional
        Of no effect here.
    cluster_resolver : ClusterResolver, optional
        The workers, and which of them this process is; those of TF_CONFIG by default. The chief is the task of job 'chief', or the first of job
        'worker'. Without a cluster there is one replica.

    Raises
    ------
    ValueError
        If the cluster does not say which worker this is, or says one that is none.
    """

    def __init__(self, communication: CollectiveCommunication = CollectiveCommunication.AUTO,
                 cluster_resolver: ClusterResolver | None = None) -> None:
        if not isinstance(communication, CollectiveCommunication):
            raise ValueError(f"communication must be a tf.distribute.experimental.CollectiveCommunication, got {communication!r}")
        resolver = cluster_resolver or TFConfigClusterResolver()
        super().__init__(_OverWorkers(self, resolver.cluster_spec(), resolver.task_type, resolver.task_id))

    def configure(self, session_config: ConfigProto | None = None, cluster_spec: ClusterSpec | dict | None = None, task_type: str | None = None,
                  task_id: int | None = None) -> None:
        """Makes it that of a worker of a cluster, before it is used, and fills what sessions need into a configuration."""
        if cluster_spec:
            self._extended = _OverWorkers(self, ClusterSpec(cluster_spec), task_type, task_id)
        if session_config is not None:
            session_config.CopyFrom(self.update_config_proto(session_config))

    def update_config_proto(self, config_proto: ConfigProto) -> ConfigProto:
        """The configuration that sessions of this worker need: they see their own task, and find the others by the leader that it names."""
        made = ConfigProto()
        made.CopyFrom(config_proto)
        worker = self._extended._worker
        if worker is not None:
            made.experimental.collective_group_leader = worker.leader
            del made.device_filters[:]
            made.device_filters.append(worker.filter)
        return made


class _OverWorkers(StrategyExtended):
    """What the strategy does in one worker."""

    experimental_between_graph = True

    def __init__(self, strategy: Strategy, spec: ClusterSpec, job: str | None, task: int | None) -> None:
        worker = worker_of(spec, job, task)
        super().__init__(strategy, ["/device:CPU:0" if worker is None or worker.job == EVALUATOR else worker.device])
        self._worker, self._spec = worker, spec
        self._group = WorkerGroup(1, True) if worker is None else WorkerGroup(worker.count, worker.is_chief)

    @property
    def _num_replicas_in_sync(self):
        return self._group.size

    @property
    def should_checkpoint(self) -> bool:
        """Whether this worker is the chief, whose checkpoints and summaries are kept."""
        return self._group.is_chief

    should_save_summary = should_checkpoint

    def _session_target(self) -> str:
        worker = self._worker
        if worker is None or worker.job == EVALUATOR:
            return ""
        trains = ClusterSpec({job: tasks for job, tasks in self._spec.as_dict().items() if job != EVALUATOR})
        return own_server(trains, worker.job, worker.task, None, self._strategy.update_config_proto(ConfigProto())).target

    def _check_alike(self, numbers: Sequence[tuple[str, int]]) -> None:
        agreement.check_alike(self._strategy, numbers)

    @contextlib.contextmanager
    def _scope(self) -> Iterator[Any]:
        with super()._scope() as strategy, graph.device(self._devices[0]):
            yield strategy

    def _create_parts(self, next_creator, kwargs):
        given = kwargs.get("initial_value")
        if self._group.size == 1 or given is None:
            return super()._create_parts(next_creator, kwargs)

        def from_chief():
            value = given() if callable(given) else given
            return self._group.from_chief(ops.convert_to_tensor(value, dtype=kwargs.get("dtype")))
        return super()._create_parts(next_creator, dict(kwargs, initial_value=from_chief))

    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any) -> Any:
        """The sum or mean of the values of all workers, in each of them."""
        op = ReduceOp.of(reduce_op)
        if self._group.size == 1:
            return super().reduce_to(op, value, destinations)
        if isinstance(value, (Mirrored, MirroredVariable)):
            return self._alike(op, value)
        own = value.values[0] if isinstance(value, (PerReplica, DistributedVariable)) else value
        with graph.device(self._devices[0]), graph.name_scope("allreduce"):
            if isinstance(own, IndexedSlices):
                return self._joined(op, own)
            total = self._group.total(ops.convert_to_tensor(own))
            return total if op is ReduceOp.SUM else total / self._count_for(total)

    def _joined(self, op, own):
        rows = self._group.joined(own.values)
        if op is ReduceOp.MEAN:
            rows = rows / self._count_for(rows)
        return IndexedSlices(rows, self._group.joined(own.indices), own.dense_shape)

    def _count_for(self, total):
        """The number of workers, as what a total is divided by."""
        return self._group.size if total.dtype.is_integer else ops.convert_to_tensor(self._group.size, dtype=total.dtype)

    def _input_context(self) -> inputs.InputContext:
        return inputs.InputContext(self._group.size, 0 if self._worker is None else self._worker.number, self._group.size)

    def _distributed(self, dataset: Dataset) -> inputs.DistributedDataset:
        return inputs.DistributedDataset(dataset, self._group.size, self._input_context().input_pipeline_id)
