# SPDX-License-Identifier: Apache-2.0
"""What code that runs for one replica may ask."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.control import replicas
from thalweg.graph import ops
from thalweg.graph.tensor import IndexedSlices
from thalweg.operations import array_ops
from thalweg.operations.custom_gradients import with_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.distribute.reductions import ReduceOp
    from thalweg.graph.tensor import Tensor


class ReplicaContext:
    """What code that runs for one replica may ask."""

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any, index: int = 0) -> None:
        self._strategy, self._id, self._index = strategy, replica_id_in_sync_group, index

    def __enter__(self) -> None:
        self._entered = replicas.under(replicas.Replication(self._strategy, self))
        self._entered.__enter__()

    def __exit__(self, *error: object) -> None:
        self._entered.__exit__(*error)

    @property
    def strategy(self) -> Any:
        """The strategy of the replica."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """Over how many replicas gradients are summed."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Tensor:
        """Which replica this is, from 0 on."""
        return self._id if not isinstance(self._id, int) else ops.convert_to_tensor(self._id, name="replica_id_in_sync_group")

    @property
    def devices(self) -> Sequence[str]:
        """The device of the replica."""
        return (self._strategy.extended.worker_devices[self._index],)

    def merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """merge_fn(strategy, ...) is called once, across replicas, when all replicas are here; each gets its part of the result.
        Arguments that differ among the replicas come as values of each."""
        return self._strategy.extended._merge_call(self, merge_fn, tuple(args), dict(kwargs or {}))

    def all_reduce(self, reduce_op: ReduceOp | str, value: Any) -> Any:
        """The sum or mean of the values of all replicas, for each of them. Its gradient is the sum or mean of those of all replicas: all of them
        ask for it."""
        flat = nest.flatten(value)

        def merge(strategy, *each):
            return strategy.extended.batch_reduce_to(reduce_op, [(v, v) for v in each])
        if any(isinstance(v, IndexedSlices) for v in flat):
            return nest.pack_sequence_as(value, list(self.merge_call(merge, args=flat)))
        given = [array_ops.identity(v) for v in flat]  # what the gradient is by, of this replica alone
        reduced = with_gradient(given, self.merge_call(merge, args=given), lambda *incoming: self.all_reduce(reduce_op, list(incoming)))
        return nest.pack_sequence_as(value, reduced)
