# SPDX-License-Identifier: Apache-2.0
"""Collective operations of workers that have a graph each: their nodes find each other by keys that every worker counts alike."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import raw_ops
from thalweg.graph import graph, ops
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Tensor

_GROUP = 1  # all workers, a device each
_FIRST_INSTANCE, _FIRST_OF_VARIABLES, _FIRST_OF_CHECKS = 100, 1_000_000, 2_000_000


class WorkerGroup:
    """All workers of a strategy, which make the same nodes in the same order: so the n-th of each have the same key.

    Parameters
    ----------
    size : int
        How many workers there are.
    is_chief : bool
        Whether this worker is the one whose initial values all take.
    """

    def __init__(self, size: int, is_chief: bool) -> None:
        self.size, self.is_chief = size, is_chief

    def _keys(self, first):
        """Keys of the next node in the default graph: each graph counts for itself, whatever its worker has built before."""
        counts = _counts(graph.get_default_graph())
        counts[first] = counts.get(first, first) + 1
        return {"group_size": self.size, "group_key": _GROUP, "instance_key": counts[first] - 1}

    def total(self, value: Tensor) -> Tensor:
        """The sum of the values of all workers, for each of them."""
        return raw_ops.CollectiveReduce(input=value, merge_op="Add", final_op="Id", subdiv_offsets=[0], **self._keys(_FIRST_INSTANCE))

    def joined(self, value: Tensor) -> Tensor:
        """The rows of all workers, in their order; each brings as many."""
        shape = value.shape.as_list() if value.shape.ndims else None
        if not shape or None in shape:
            raise ValueError(f"{value.name}: rows of workers are joined where their number and size are known, got shape {value.shape}; batches of "
                             "one size (drop_remainder=True) have it")
        return raw_ops.CollectiveGather(input=value, shape=[shape[0] * self.size, *shape[1:]], **self._keys(_FIRST_INSTANCE))

    def compared(self, value: Tensor) -> Tensor:
        """The numbers of all workers, in their order, for what checks them in a graph of its own. `value`: as many of each, a vector."""
        count = value.shape.as_list()[0]  # a server knows one shape for a key, whatever program or session comes next
        return raw_ops.CollectiveGather(input=value, shape=[self.size * count], **self._keys(_FIRST_OF_CHECKS * count))

    def from_chief(self, value: Tensor) -> Tensor:
        """The chief's value of a variable, for each worker."""
        if not value.shape.is_fully_defined():
            raise ValueError(f"{value.name}: a variable of several workers begins with a value of a known shape, got {value.shape}")
        keys = dict(self._keys(_FIRST_OF_VARIABLES), shape=value.shape.as_list())
        if not self.is_chief:
            return raw_ops.CollectiveBcastRecv(T=value.dtype.base_dtype, **keys)
        sent = raw_ops.CollectiveBcastSend(input=value, **keys)
        with graph.control_dependencies([sent]):
            return array_ops.identity(ops.convert_to_tensor(value))


def _counts(made: Graph) -> dict[int, int]:
    return made.__dict__.setdefault("_collective_counts", {})
