# SPDX-License-Identifier: Apache-2.0
"""Where the variables of replicas live: tf.train.replica_device_setter."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.cluster.server import ClusterSpec
from thalweg.graph.device_specs import DeviceSpec, merge_devices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.graph.tensor import Operation
    from thalweg.messages import ClusterDef


_PS_OPS = ("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
           "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "VarHandleOp",
           "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp")


class _ReplicaDevices:
    """The device function of replica_device_setter."""

    def __init__(self, ps_tasks, ps_device, worker_device, merge_devices, ps_ops, ps_strategy):
        self._tasks, self._ps, self._worker, self._merge = ps_tasks, ps_device, worker_device, merge_devices
        self._ops, self._strategy, self._next = ps_ops, ps_strategy, 0

    def _task(self, op):
        if self._strategy is not None:
            return self._strategy(op)
        self._next += 1
        return (self._next - 1) % self._tasks

    def __call__(self, op):
        if not self._merge and op.device:
            return op.device
        current = DeviceSpec.from_string(op.device or "")
        if self._tasks and self._ps and op.type in self._ops:
            spec = DeviceSpec.from_string(self._ps)
            if current.job in (None, spec.job):
                spec.task = self._task(op)
            return merge_devices(op.device, spec.to_string())
        return merge_devices(op.device, self._worker or "")


def replica_device_setter(ps_tasks: int = 0, ps_device: str = "/job:ps", worker_device: str = "/job:worker",
                          merge_devices: bool = True, cluster: ClusterSpec | ClusterDef | Mapping[str, Any] | None = None,
                          ps_ops: Sequence[str] | None = None,
                          ps_strategy: Callable[[Operation], int] | None = None) -> Callable[[Operation], str] | None:
    """A device function that puts variables on the tasks of parameter servers, in turn, and all else on the worker."""
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        job = DeviceSpec.from_string(ps_device).job if ps_device else None
        if job not in jobs or not jobs[job]:
            return None
        ps_tasks = len(jobs[job])
    if ps_tasks == 0:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    return _ReplicaDevices(ps_tasks, ps_device, worker_device, merge_devices, _PS_OPS if ps_ops is None else ps_ops, ps_strategy)
