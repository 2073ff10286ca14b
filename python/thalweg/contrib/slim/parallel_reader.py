# SPDX-License-Identifier: Apache-2.0
"""slim.parallel_reader: several readers that fill one queue."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes as types, summary
from thalweg.base import names
from thalweg.control.queue_runner import QueueRunner, add_queue_runner
from thalweg.files import file_names
from thalweg.graph.graph import name_scope
from thalweg.operations import math_ops
from thalweg.operations.data_flow_ops import FIFOQueue, RandomShuffleQueue
from thalweg.operations.readers import ReaderBase
from thalweg.training.input import string_input_producer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, IntLike
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.operations.data_flow_ops import QueueBase


__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]


class ParallelReader(ReaderBase):
    """Readers of one class, each with a thread of its own, whose records come from one queue in any order.

    Parameters
    ----------
    reader_class : class
        Such as TFRecordReader.
    common_queue : QueueBase
        Of two strings, key and value.
    num_readers : int
        How many.
    reader_kwargs : dict, optional
        Arguments of the class.
    """

    def __init__(self, reader_class: Callable[..., ReaderBase], common_queue: QueueBase, num_readers: int = 4,
                 reader_kwargs: Mapping[str, Any] | None = None) -> None:
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    @property
    def common_queue(self) -> QueueBase:
        """The queue that they fill."""
        return self._common_queue

    def _fill(self, enqueue_ops: list[Operation]) -> None:
        add_queue_runner(QueueRunner(self._common_queue, enqueue_ops))

    def read(self, queue: QueueBase, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Key and value of a record of the files that `queue` names. Adds a queue runner."""
        self._fill([self._common_queue.enqueue(reader.read(queue)) for reader in self._readers])
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: QueueBase, num_records: IntLike, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Keys and values of at most `num_records` records, less at the end. Adds a queue runner."""
        self._fill([self._common_queue.enqueue_many(reader.read_up_to(queue, num_records)) for reader in self._readers])
        return self._common_queue.dequeue_up_to(num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Of all readers."""
        return math_ops.add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Of all readers."""
        return math_ops.add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


def parallel_read(data_sources: str | Sequence[str], reader_class: Callable[..., ReaderBase], num_epochs: int | None = None,
                  num_readers: int = 4, reader_kwargs: Mapping[str, Any] | None = None, shuffle: bool = True,
                  dtypes: Sequence[DTypeLike] | None = None, capacity: int = 256, min_after_dequeue: int = 128, seed: int | None = None,
                  scope: str | None = None) -> tuple[Tensor, Tensor]:
    """Key and value of a record of files, which `num_readers` readers read again and again.

    Parameters
    ----------
    data_sources : str or list of str
        Files, or patterns of them.
    reader_class : class
        Such as TFRecordReader.
    num_epochs : int, optional
        How often all files are read; without end where it is left out.
    num_readers : int
        How many files are read at once.
    reader_kwargs : dict, optional
        Arguments of the class.
    shuffle : bool
        Whether files and records come in random order.
    dtypes : list, optional
        Of key and value, strings where it is left out.
    capacity, min_after_dequeue : int
        How many records may wait, and how many stay to be shuffled.
    seed : int, optional
        Of the order.
    scope : str, optional
        Of the operations.

    Returns
    -------
    tuple of two Tensors

    Raises
    ------
    ValueError
        If there are no such files.
    """
    files = get_data_files(data_sources)
    with name_scope(scope or "parallel_read"):
        sources = string_input_producer(files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames")
        dtypes = dtypes or [types.string, types.string]
        if shuffle:
            queue = RandomShuffleQueue(capacity=capacity, min_after_dequeue=min_after_dequeue, dtypes=dtypes, seed=seed, name="common_queue")
        else:
            queue = FIFOQueue(capacity=capacity, dtypes=dtypes, name="common_queue")
        summary.scalar(f"fraction_of_{capacity}_full", math_ops.cast(queue.size(), types.float32) * (1. / capacity))
        return ParallelReader(reader_class, queue, num_readers=num_readers, reader_kwargs=reader_kwargs).read(sources)


def single_pass_read(data_sources: str | Sequence[str], reader_class: Callable[..., ReaderBase],
                     reader_kwargs: Mapping[str, Any] | None = None, scope: str | None = None) -> tuple[Tensor, Tensor]:
    """Key and value of a record of files, which one reader reads once, in their order."""
    files = get_data_files(data_sources)
    with name_scope(scope or "single_pass_read"):
        sources = string_input_producer(files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(sources)


def get_data_files(data_sources: str | Sequence[str]) -> list[str]:
    """The files that are named, or that match patterns. ValueError where there are none."""
    if isinstance(data_sources, (list, tuple, set)):
        files = [file for source in data_sources for file in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        files = file_names.glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files


names.complete(globals())
