# SPDX-License-Identifier: Apache-2.0
"""slim.prefetch_queue: batches that are made before they are asked for."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, summary
from thalweg.base import names
from thalweg.control.queue_runner import QueueRunner, add_queue_runner
from thalweg.graph.graph import name_scope
from thalweg.operations import math_ops
from thalweg.operations.data_flow_ops import FIFOQueue, PaddingFIFOQueue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.graph.tensor import Tensor
    from thalweg.operations.data_flow_ops import QueueBase


__all__ = ["prefetch_queue"]


def prefetch_queue(tensors: Sequence[Tensor] | Mapping[str, Tensor], capacity: int = 8, num_threads: int = 1, dynamic_pad: bool = False,
                   shared_name: str | None = None, name: str | None = None) -> QueueBase:
    """A queue of `tensors`, which a queue runner fills.

    Parameters
    ----------
    tensors : list or dict of Tensors
        What an element is; of a dictionary, dequeue() gives one, too.
    capacity : int
        How many elements may wait.
    num_threads : int
        That fill the queue.
    dynamic_pad : bool
        Dimensions may be unknown: dequeue_many() pads.
    shared_name : str, optional
        The queue is the same for all sessions of a cluster that use this name.
    name : str, optional
        Of the operations.

    Returns
    -------
    QueueBase

    Raises
    ------
    ValueError
        If a shape is not known in full, without `dynamic_pad`.
    """
    named = isinstance(tensors, dict)
    keys = sorted(tensors) if named else None
    parts = [tensors[key] for key in keys] if named else list(tensors)
    with name_scope(name, "prefetch_queue", parts):
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = kind(capacity=capacity, dtypes=[t.dtype for t in parts], shapes=[t.shape for t in parts], names=keys,
                     shared_name=shared_name)
        add_queue_runner(QueueRunner(queue, [queue.enqueue(tensors)] * num_threads))
        summary.scalar(f"fraction_of_{capacity}_full", math_ops.cast(queue.size(), dtypes.float32) * (1. / capacity))
        return queue


names.complete(globals())
