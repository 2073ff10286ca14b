# SPDX-License-Identifier: Apache-2.0
"""The strategies: each says on which devices replicas and variables are."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.cluster.cluster_resolver import TFConfigClusterResolver
from thalweg.distribute.strategy import Strategy, StrategyExtended
from thalweg.graph.device_specs import DeviceSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.cluster.cluster_resolver import ClusterResolver
    from thalweg.distribute.reductions import CrossDeviceOps


def _canonical(device):
    """/device:CPU:1 of "/cpu:1", "CPU:1" and others."""
    return DeviceSpec.from_string(device if device.startswith("/") else "/" + device).to_string()


def _devices(devices):
    found = [_canonical(device) for device in (["/cpu:0"] if devices is None else devices)]
    if not found:
        raise ValueError("Got an empty `devices` list.")
    if len(set(found)) != len(found):
        raise ValueError(f"Duplicates in `devices` argument: {devices}")
    return found


class DefaultStrategy(Strategy):
    """What there is without a strategy: one replica, and variables as they are."""

    def __init__(self) -> None:
        super().__init__(_OneReplica(self))


class _OneReplica(StrategyExtended):
    _is_default = True

    def _create(self, next_creator, **kwargs):
        return next_creator(**kwargs)

    def _merge_call(self, context, merge_fn, args, kwargs):
        return merge_fn(self._strategy, *args, **kwargs)


class OneDeviceStrategy(Strategy):
    """All on one device."""

    def __init__(self, device: str) -> None:
        super().__init__(StrategyExtended(self, _devices([device]), _canonical(device)))


class MirroredStrategy(Strategy):
    """Each device of this process has a part of every variable; gradients of all are summed before each update.

    Parameters
    ----------
    devices : list of str, optional
        One replica each; "/cpu:0" by default.
    cross_device_ops : CrossDeviceOps, optional
        Of no effect here.
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: CrossDeviceOps | None = None) -> None:
        del cross_device_ops
        super().__init__(StrategyExtended(self, _devices(devices)))


class CentralStorageStrategy(Strategy):
    """Replicas on several devices, variables on one."""

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None) -> None:
        super().__init__(StrategyExtended(self, _devices(compute_devices), _canonical(parameter_device or "/cpu:0")))
        if self.num_replicas_in_sync > 1:
            self._extended._keras_refusal = ("models of tf.keras train under CentralStorageStrategy on one compute device, as in TensorFlow 1.15, "
                                             f"got {self.num_replicas_in_sync}: MirroredStrategy trains them on several")


class ParameterServerStrategy(Strategy):
    """Variables on the parameter servers of a cluster in turn, one replica in each worker's program, which waits for no other.

    Parameters
    ----------
    cluster_resolver : ClusterResolver, optional
        The cluster, and which task this process is; that of TF_CONFIG by default. Without a cluster all is in this process.
    """

    def __init__(self, cluster_resolver: ClusterResolver | None = None) -> None:
        resolver = cluster_resolver or TFConfigClusterResolver()
        spec = resolver.cluster_spec()
        if "ps" in spec.jobs and resolver.task_type:
            super().__init__(_OnServers(self, f"/job:{resolver.task_type}/task:{resolver.task_id}/device:CPU:0", spec.num_tasks("ps"),
                                        resolver.task_type in ("chief", "master") or
                                        (resolver.task_id == 0 and not {"chief", "master"} & set(spec.jobs))))
        else:
            super().__init__(StrategyExtended(self, _devices(None), _canonical("/cpu:0")))


class _OnServers(StrategyExtended):
    """What a ParameterServerStrategy does in one task of a cluster."""

    experimental_between_graph = True
    _keras_refusal = ("models of tf.keras are not trained with parameter servers, as in TensorFlow 1.15: under "
                      "tf.distribute.experimental.MultiWorkerMirroredStrategy several workers train one")

    def __init__(self, strategy, device, servers, is_chief):
        super().__init__(strategy, [device], "/job:ps")
        self._servers, self._next, self._is_chief = [f"/job:ps/task:{i}/device:CPU:0" for i in range(servers)], 0, is_chief

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The parameter servers."""
        return tuple(self._servers)

    def _variable_devices(self):
        self._next += 1
        return (self._servers[(self._next - 1) % len(self._servers)],)

    @property
    def should_checkpoint(self) -> bool:
        """Whether this task is the chief, which saves for all."""
        return self._is_chief

    experimental_should_init = should_save_summary = should_checkpoint
