# SPDX-License-Identifier: Apache-2.0
"""tw.distribute: what there is of it: the resolvers of clusters, and all-reduce as nodes of the graph, which is an addition."""
from thalweg import cluster_resolver, names
from thalweg.ring import ring_all_reduce

names.complete(globals())
__all__ = ["cluster_resolver", "ring_all_reduce"]
