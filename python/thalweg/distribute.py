# SPDX-License-Identifier: Apache-2.0
"""tw.distribute: what there is of it: the resolvers of clusters, and all-reduce as nodes of the graph, which is an addition."""
from __future__ import annotations

from thalweg.base import names
from thalweg.cluster import cluster_resolver
from thalweg.operations.ring import ring_all_reduce


def has_strategy() -> bool:
    """Whether code runs under a strategy: there are none here, each task has its own program."""
    return False


def in_cross_replica_context() -> bool:
    """Whether code runs for all replicas of a strategy at once."""
    return False


__all__ = ["cluster_resolver", "ring_all_reduce"]
names.complete(globals())
