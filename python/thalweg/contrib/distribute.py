# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.distribute: tw.distribute under the names that it had before."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg.base import names
from thalweg.distribute import multi_worker, strategies

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from thalweg.distribute.reductions import CrossDeviceOps


class DistributeConfig(collections.namedtuple("DistributeConfig", ["train_distribute", "eval_distribute", "remote_cluster"])):
    """The strategies of an Estimator, as its RunConfig takes them in `experimental_distribute`."""

    def __new__(cls, train_distribute: object = None, eval_distribute: object = None, remote_cluster: object = None) -> Self:
        return super().__new__(cls, train_distribute, eval_distribute, remote_cluster)


class MirroredStrategy(strategies.MirroredStrategy):
    """tf.distribute.MirroredStrategy with the older arguments; kernels run on CPUs, so there are as many devices as are named."""

    def __init__(self, devices: Sequence[str] | None = None, num_gpus: int | None = None, num_gpus_per_worker: int | None = None,
                 cross_device_ops: CrossDeviceOps | None = None, auto_shard_dataset: bool = False,
                 cross_tower_ops: CrossDeviceOps | None = None) -> None:
        del num_gpus, num_gpus_per_worker, auto_shard_dataset
        super().__init__(devices, cross_device_ops or cross_tower_ops)


class OneDeviceStrategy(strategies.OneDeviceStrategy):
    """tf.distribute.OneDeviceStrategy."""


class ParameterServerStrategy(strategies.ParameterServerStrategy):
    """tf.distribute.experimental.ParameterServerStrategy of the cluster in TF_CONFIG."""

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        del num_gpus_per_worker
        super().__init__()


class CollectiveAllReduceStrategy(multi_worker.MultiWorkerMirroredStrategy):
    """tf.distribute.experimental.MultiWorkerMirroredStrategy."""

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        del num_gpus_per_worker
        super().__init__()


__all__ = ["CollectiveAllReduceStrategy", "DistributeConfig", "MirroredStrategy", "OneDeviceStrategy", "ParameterServerStrategy"]
names.complete(globals(), {
    "distribute.current": "get_distribution_strategy=get_strategy get_loss_reduction get_replica_context get_strategy "
                          "has_distribution_strategy=has_strategy has_strategy in_cross_replica_context",
    "distribute.inputs": "InputContext",
    "distribute.reductions": "CrossDeviceOps ReductionToOneDeviceCrossDeviceOps=ReductionToOneDevice",
    "distribute.strategy": "DistributionStrategy=Strategy DistributionStrategyExtended=StrategyExtended Strategy StrategyExtended",
    "distribute.contexts": "ReplicaContext"})
