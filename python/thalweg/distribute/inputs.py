# SPDX-License-Identifier: Apache-2.0
"""Input of replicas: batches that are cut among them, or one each."""
from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.data.multi_device import MultiDeviceIterator
from thalweg.distribute.values import regroup
from thalweg.graph import graph, ops
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.data.dataset import Dataset
    from thalweg.graph.tensor import Operation, Tensor


class InputReplicationMode(enum.Enum):
    """Who calls a function of input: each worker."""

    PER_WORKER = "PER_WORKER"


class InputContext:
    """What a function of input may ask: which of how many pipelines it makes, and for how many replicas.

    Parameters
    ----------
    num_input_pipelines : int
    input_pipeline_id : int
    num_replicas_in_sync : int

    Examples
    --------
    >>> context = tw.distribute.InputContext(2, 1, 4)
    >>> context.get_per_replica_batch_size(64)
    16
    """

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        self._pipelines, self._id, self._replicas = num_input_pipelines, input_pipeline_id, num_replicas_in_sync

    @property
    def num_input_pipelines(self) -> int:
        """How many pipelines there are."""
        return self._pipelines

    @property
    def input_pipeline_id(self) -> int:
        """The number of this one."""
        return self._id

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are, of all pipelines."""
        return self._replicas

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The part of a batch that each replica has."""
        if global_batch_size % self._replicas:
            raise ValueError(f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` {self._replicas} ")
        return global_batch_size // self._replicas


class DistributedIterator:
    """A pass over input: get_next() is an element with a value for each replica."""

    def __init__(self, initializer: Operation | None, take: Callable[[], Sequence[Any]]) -> None:
        self._initializer, self._take = initializer, take

    @property
    def initializer(self) -> Operation:
        """Lets the pass begin, and again."""
        return ops.group() if self._initializer is None else self._initializer

    def initialize(self) -> list[Operation]:
        """What lets the pass begin, and again."""
        return [] if self._initializer is None else [self._initializer]

    def get_next(self, name: str | None = None) -> Any:
        """The next element; its structure has a value for each replica."""
        del name
        return regroup(self._take())


class DistributedDataset:
    """A dataset whose batches are cut among the replicas: all of this process, or, where each of them is in a process, number `own` of them."""

    def __init__(self, dataset: Dataset, count: int, own: int | None = None) -> None:
        self._cut, self._count = dataset, count if own is None else 1
        if count > 1:
            self._cut = dataset.map(lambda *element: _parts(element, count) if own is None else _part(element, count, own))

    def _iterator(self, made):
        return DistributedIterator(getattr(made, "_initializer", None), lambda: made.get_next() if self._count > 1 else [made.get_next()])

    def make_initializable_iterator(self, shared_name: str | None = None) -> DistributedIterator:
        """A pass that begins when its initializer runs."""
        return self._iterator(self._cut.make_initializable_iterator(shared_name))

    def make_one_shot_iterator(self) -> DistributedIterator:
        """A pass that begins by itself."""
        return self._iterator(self._cut.make_one_shot_iterator())


def _parts(element, count):
    """The element's rows in `count` parts, the last ones smaller where they do not come out even."""
    return tuple(_part(element, count, i) for i in range(count))


def rows_of_part(tensor: Tensor, count: int, index: int) -> slice:
    """Which rows of a tensor are part `index` of `count` parts."""
    known = tensor.shape.as_list()[0] if tensor.shape.ndims else None
    rows = known if known is not None else array_ops.shape(tensor)[0]
    size = (rows + count - 1) // count
    first = size * index if known is not None else ops.apply("Minimum", [size * index, rows])
    return slice(first, first + size)


def _part(element, count, index):
    """Part `index` of them."""
    return nest.map_structure(lambda tensor: tensor[rows_of_part(tensor, count, index)], element[0] if len(element) == 1 else element)


def of_function(input_fn: Callable[[InputContext], Any], context: InputContext, devices: Sequence[str]) -> DistributedIterator:
    """The input of a function that gives a dataset, whose elements the replicas take in turn, or a function to call for each."""
    given = input_fn(context)
    if callable(given):
        return DistributedIterator(None, lambda: [given() for _ in devices])
    if len(devices) == 1:
        with graph.device(devices[0]):
            single = given.make_initializable_iterator()
        return DistributedIterator(single.initializer, lambda: [single.get_next()])
    shared = MultiDeviceIterator(given, devices)
    return DistributedIterator(shared.initializer, shared.get_next)
