# SPDX-License-Identifier: Apache-2.0
"""tw.distribute: one program over several replicas; the resolvers of clusters; all-reduce as nodes of the graph, which is an addition."""
from thalweg.base import names
from thalweg.cluster import cluster_resolver

__all__ = ["cluster_resolver", "experimental", "ring_all_reduce"]  # noqa: F822  (found by the table below)
names.complete(globals(), {
    "cluster.server": "Server",
    "distribute.contexts": "ReplicaContext",
    "distribute.current": "experimental_set_strategy get_loss_reduction get_replica_context get_strategy has_strategy "
                          "in_cross_replica_context",
    "distribute.inputs": "InputContext InputReplicationMode",
    "distribute.reductions": "CrossDeviceOps HierarchicalCopyAllReduce NcclAllReduce ReduceOp ReductionToOneDevice",
    "distribute.strategies": "MirroredStrategy OneDeviceStrategy",
    "distribute.strategy": "Strategy StrategyExtended",
    "operations.ring": "ring_all_reduce"})
