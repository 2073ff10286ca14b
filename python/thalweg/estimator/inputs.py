# SPDX-License-Identifier: Apache-2.0
"""tw.estimator.inputs: batches of arrays through a queue."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.base import names
from thalweg.control import queue_runner
from thalweg.graph import graph
from thalweg.operations import data_flow_ops, script_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from thalweg.base.typing import Array, IntLike


class _Rows:
    """Numbers of rows, epoch after epoch, in lots; StopIteration at the end."""

    def __init__(self, count, lot, epochs, shuffle, seed):
        self._count, self._lot, self._epochs, self._shuffle = count, lot, epochs, shuffle
        self._random, self._lock = np.random.RandomState(seed), threading.Lock()
        self._pending = np.zeros(0, np.int64)

    def _epoch(self):
        if self._epochs == 0:
            return np.zeros(0, np.int64)
        if self._epochs is not None:
            self._epochs -= 1
        return self._random.permutation(self._count) if self._shuffle else np.arange(self._count)

    def next(self):
        with self._lock:
            while len(self._pending) < self._lot:
                more = self._epoch()
                if not len(more):
                    break
                self._pending = np.concatenate([self._pending, more])
            if not len(self._pending):
                raise StopIteration
            taken, self._pending = self._pending[:self._lot], self._pending[self._lot:]
            return taken


def _element_type(array):
    return dtypes.string if array.dtype.kind in "OSU" else dtypes.as_dtype(array.dtype)


def _batches(arrays, batch_size, num_epochs, shuffle, queue_capacity, num_threads):
    """Tensors of the next rows of all arrays."""
    seed = graph.get_seed(None)[1] if shuffle else None
    rows = _Rows(len(arrays[0]), batch_size, num_epochs, shuffle, seed)
    types = [_element_type(a) for a in arrays]
    queue = data_flow_ops.FIFOQueue(max(queue_capacity, 2 * batch_size), types, [a.shape[1:] for a in arrays],
                                    name="enqueue_input/fifo_queue")

    def take():
        at = rows.next()
        return [a[at] for a in arrays]
    enqueues = []
    for _ in range(num_threads):
        values = script_ops.py_func(take, [], types)
        for value, array in zip(values, arrays):
            value.set_shape((None,) + array.shape[1:])
        enqueues.append(queue.enqueue_many(values))
    queue_runner.add_queue_runner(queue_runner.QueueRunner(queue, enqueues))
    made = queue.dequeue_many(batch_size) if num_epochs is None else queue.dequeue_up_to(batch_size)
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _check_shuffle(shuffle):
    if not isinstance(shuffle, bool):
        raise ValueError("shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for "
                         f"training); got {shuffle}")


def numpy_input_fn(x: Array | Mapping[str, Array], y: Array | Mapping[str, Array] | None = None, batch_size: IntLike = 128,
                   num_epochs: int | None = 1, shuffle: bool | None = None, queue_capacity: int = 1000,
                   num_threads: int = 1) -> Callable[[], Any]:
    """An input function that gives batches of rows of arrays.

    Parameters
    ----------
    x : ndarray or dict of ndarray
        The features: all of the same length.
    y : ndarray or dict of ndarray, optional
        The labels.
    batch_size : int
        Rows of a batch.
    num_epochs : int, optional
        How often the rows come; None: again and again.
    shuffle : bool
        Whether the order of rows is random; must be given.
    queue_capacity : int
        How many rows may wait.
    num_threads : int
        How many threads take rows; with more than one their order is open.

    Returns
    -------
    callable
        Without arguments; it gives the features, or (features, labels), of the next batch as tensors.

    Raises
    ------
    ValueError
        If `shuffle` is not given; when it is called, if lengths differ or a dict is empty.
    TypeError
        When it is called, if `x` is neither an array nor a dict.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     rows = tw.estimator.inputs.numpy_input_fn(np.array([1.0, 2.0, 3.0]), batch_size=2, shuffle=False)()
    ...     coordinator = tw.train.Coordinator()
    ...     threads = tw.train.start_queue_runners(sess, coordinator)
    ...     sess.run(rows)
    ...     coordinator.request_stop()
    ...     coordinator.join(threads)
    array([1., 2.])
    """
    _check_shuffle(shuffle)

    def input_fn():
        if not isinstance(x, (dict, np.ndarray)):
            raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
        if isinstance(x, dict) and not x:
            raise ValueError("x cannot be an empty dict")
        if isinstance(y, dict) and not y:
            raise ValueError("y cannot be empty dict, use None instead.")
        features = dict(x) if isinstance(x, dict) else {None: x}
        targets = {} if y is None else dict(y) if isinstance(y, dict) else {None: y}
        arrays = [np.asarray(a) for a in [*features.values(), *targets.values()]]
        if len({len(a) for a in arrays}) != 1:
            raise ValueError("Length of tensors in x and y is mismatched. All elements in x and y must have the same length.\n"
                             f"Shapes in x: { {k: np.shape(v) for k, v in features.items()} }\n"
                             f"Shapes in y: { {k: np.shape(v) for k, v in targets.items()} }\n")
        made = _batches(arrays, batch_size, num_epochs, shuffle, queue_capacity, num_threads)
        first = dict(zip(features, made))
        first = first if isinstance(x, dict) else first[None]
        if y is None:
            return first
        second = dict(zip(targets, made[len(features):]))
        return first, second if isinstance(y, dict) else second[None]
    return input_fn


def pandas_input_fn(x: Any, y: Any = None, batch_size: IntLike = 128, num_epochs: int | None = 1, shuffle: bool | None = None,
                    queue_capacity: int = 1000, num_threads: int = 1, target_column: str = "target") -> Callable[[], Any]:
    """An input function: batches of rows of a DataFrame's columns by name, its index too, and of y."""
    _check_shuffle(shuffle)
    features = {"index": x.index.values, **{c: x[c].values for c in x.columns}}
    target = None
    if y is not None:
        if not (len(x.index) == len(y.index) and (x.index == y.index).all()):
            raise ValueError(f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n")
        target = {c: y[c].values for c in y.columns} if hasattr(y, "columns") else y.values
    made = numpy_input_fn(features, target, batch_size, num_epochs, shuffle, queue_capacity, num_threads)

    def input_fn():
        result = made()
        (result[0] if isinstance(result, tuple) else result).pop("index")
        return result
    return input_fn


names.complete(globals())
