# SPDX-License-Identifier: Apache-2.0
"""Which strategy code runs under, and for which replica."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from thalweg.control import replicas
from thalweg.distribute.contexts import ReplicaContext
from thalweg.distribute.reductions import ReduceOp
from thalweg.distribute.strategies import DefaultStrategy
from thalweg.graph import graph

if TYPE_CHECKING:
    from thalweg.distribute.strategy import Strategy


@functools.cache
def _default() -> Strategy:
    return DefaultStrategy()


def get_strategy() -> Strategy:
    """The strategy that code runs under; without one, a strategy of one replica, which changes nothing."""
    found = replicas.here()
    return _default() if found is None else found.strategy


def has_strategy() -> bool:
    """Whether code runs under a strategy of the program's."""
    return replicas.here() is not None


def in_cross_replica_context() -> bool:
    """Whether code runs for all replicas of a strategy at once."""
    found = replicas.here()
    return found is not None and found.replica is None


def get_replica_context() -> ReplicaContext | None:
    """The replica that code runs for; None across replicas. Without a strategy it is the only one there is."""
    found = replicas.here()
    return ReplicaContext(_default(), 0) if found is None else found.replica


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Code that is under no other strategy is under this one from now on."""
    if graph.get_default_graph()._state.replication is not None:
        raise RuntimeError("Must not be called inside a strategy scope.")
    replicas.set_for_all(strategy)


def get_loss_reduction() -> ReduceOp:
    """How losses of replicas are to be merged: SUM, but MEAN in an Estimator whose last loss of tf.losses was no sum."""
    return ReduceOp.SUM if replicas.losses_are_sums() else ReduceOp.MEAN
