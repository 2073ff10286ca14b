# SPDX-License-Identifier: Apache-2.0
"""Under which distribution strategy, and for which of its replicas, a thread makes nodes. Strategies themselves are in distribute/."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

from thalweg.graph import graph

if TYPE_CHECKING:
    from collections.abc import Iterator


class Replication(NamedTuple):
    """`replica`: the ReplicaContext where code runs for one replica; `device`: the one whose part of variables is being updated."""

    strategy: Any
    replica: Any = None
    device: str | None = None


_process_wide: list[Replication] = []  # experimental_set_strategy


def here() -> Replication | None:
    """What the thread is under in the default graph; None without a strategy."""
    found = graph.get_default_graph()._state.replication
    return _process_wide[-1] if found is None and _process_wide else found


@contextlib.contextmanager
def under(replication: Replication) -> Iterator[None]:
    """Code runs under this meanwhile."""
    state = graph.get_default_graph()._state
    before, state.replication = state.replication, replication
    try:
        yield
    finally:
        state.replication = before


def is_entered(strategy: Any) -> bool:
    """Whether code runs below the scope of this strategy, across replicas. RuntimeError for code of a replica."""
    found = graph.get_default_graph()._state.replication
    if found is None or found.strategy is not strategy:
        return False
    if found.replica is not None:
        raise RuntimeError("strategy.scope() is for code across replicas; this is the code of one, which is below it already")
    return True


def set_for_all(strategy: Any) -> None:
    """Code that is under no strategy of its own is under this one from now on; None ends that."""
    _process_wide[:] = [] if strategy is None else [Replication(strategy)]


def of_a_replica() -> Any:
    """The ReplicaContext of a strategy that code runs in; None without a strategy, or across replicas."""
    found = here()
    return None if found is None else found.replica


def losses_are_sums() -> bool:
    """Whether the gradients of replicas are those of a sum of losses: always but in an Estimator, where the last loss of tf.losses says."""
    found = here()
    return found is None or not found.strategy._scales_losses or \
        getattr(graph.get_default_graph(), "_last_loss_reduction", None) == "weighted_sum"
