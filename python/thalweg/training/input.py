# SPDX-License-Identifier: Apache-2.0
"""Input pipelines of queues: producers of file names, numbers and slices, and batches of tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, summary
from thalweg.control.control_flow import cond
from thalweg.control.queue_runner import QueueRunner, add_queue_runner
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys, name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import TensorShape
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations import array_ops, data_flow_ops, math_ops, random_ops, sparse_ops
from thalweg.operations.checks import Assert
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import IntLike, ShapeLike, TensorLike
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.operations.data_flow_ops import FIFOQueue


def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """The tensor, `num_epochs` times; after that OutOfRangeError."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        zero = ops.constant(0, dtypes.int64)
        epochs = Variable(zero, name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], use_resource=False)
        counter = apply("CountUpTo", [epochs._ref_tensor], {"limit": num_epochs})
        with graph.control_dependencies([counter]):
            return array_ops.identity(tensor, name=scope)


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """The names of files that match, as a local variable, which finds them when it is initialized."""
    with name_scope(name, "matching_filenames", [pattern]):
        names = apply("MatchingFiles", [convert_to_tensor(pattern, dtype=dtypes.string)])
        return Variable(names, name="matching_filenames" if name is None else name, trainable=False, validate_shape=False,
                        collections=[GraphKeys.LOCAL_VARIABLES], use_resource=False)


def input_producer(input_tensor: TensorLike, element_shape: ShapeLike = None, num_epochs: int | None = None, shuffle: bool = True,
                   seed: int | None = None, capacity: int = 32, shared_name: str | None = None, summary_name: str | None = None,
                   name: str | None = None, cancel_op: Operation | None = None) -> FIFOQueue:
    """A queue of the rows of a tensor, again and again."""
    with name_scope(name, "input_producer", [input_tensor]) as scope:
        input_tensor = convert_to_tensor(input_tensor, name="input_tensor")
        element_shape = input_tensor.shape[1:].merge_with(TensorShape(element_shape))
        if not element_shape.is_fully_defined():
            raise ValueError("Either `input_tensor` must have a fully defined shape or `element_shape` must be specified")
        if shuffle:
            input_tensor = random_ops.random_shuffle(input_tensor, seed=seed)
        input_tensor = limit_epochs(input_tensor, num_epochs)
        queue = data_flow_ops.FIFOQueue(capacity, [input_tensor.dtype.base_dtype], [element_shape], shared_name=shared_name,
                                        name=scope)
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([input_tensor])], cancel_op=cancel_op))
        if summary_name is not None:
            _summarize(summary_name, queue.size(), capacity)
        return queue


def _summarize(name, size, whole):
    summary.scalar(name, math_ops.cast(size, dtypes.float32) * (1. / whole))


def string_input_producer(string_tensor: TensorLike, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
                          capacity: int = 32, shared_name: str | None = None, name: str | None = None,
                          cancel_op: Operation | None = None) -> FIFOQueue:
    """A queue of strings, such as names of files, again and again.

    A thread of a queue runner fills it: start_queue_runners() starts it.

    Parameters
    ----------
    string_tensor : tensor_like
        The strings, [n].
    num_epochs : int, optional
        How often each comes; after that OutOfRangeError. Counted by a local variable.
    shuffle : bool
        Whether each epoch has an order of its own.
    seed : int, optional
        Seed of the order.
    capacity : int
        How many may wait.
    shared_name : str, optional
        The queue is the same for all sessions of a cluster that use this name.
    name : str, optional
        Name of the scope.
    cancel_op : Operation, optional
        What ends the queue.

    Returns
    -------
    QueueBase
        Of string scalars.

    Raises
    ------
    ValueError
        If a list of no strings is given.

    Examples
    --------
    >>> queue = tw.train.string_input_producer(["a", "b"], num_epochs=1, shuffle=False)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.local_variables_initializer())
    ...     coordinator = tw.train.Coordinator()
    ...     threads = tw.train.start_queue_runners(sess, coordinator)
    ...     [sess.run(queue.dequeue()) for _ in range(2)]
    ...     coordinator.request_stop()
    ...     coordinator.join(threads)
    [b'a', b'b']
    """
    no_strings = "string_input_producer requires a non-null input tensor"
    if not ops.is_dense(string_tensor) and not len(string_tensor):
        raise ValueError(no_strings)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        string_tensor = convert_to_tensor(string_tensor, dtype=dtypes.string)
        with graph.control_dependencies([Assert(apply("Greater", [array_ops.size(string_tensor), 0]), [no_strings])]):
            string_tensor = array_ops.identity(string_tensor)
        return input_producer(string_tensor, [], num_epochs, shuffle, seed, capacity, shared_name,
                              f"fraction_of_{capacity}_full", scope, cancel_op)


def range_input_producer(limit: IntLike, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
                         capacity: int = 32, shared_name: str | None = None, name: str | None = None) -> FIFOQueue:
    """A queue of the numbers from 0 to limit - 1, again and again.

    Parameters
    ----------
    limit : int or Tensor
        How many numbers there are.
    num_epochs : int, optional
        How often each comes; after that OutOfRangeError. Counted by a local variable.
    shuffle : bool
        Whether each epoch has an order of its own.
    seed : int, optional
        Seed of the order.
    capacity : int
        How many may wait.
    shared_name : str, optional
        The queue is the same for all sessions of a cluster that use this name.
    name : str, optional
        Name of the scope.

    Returns
    -------
    QueueBase
        Of int32 scalars.

    Examples
    --------
    >>> number = tw.train.range_input_producer(3, shuffle=False).dequeue()
    >>> with tw.Session() as sess:
    ...     coordinator = tw.train.Coordinator()
    ...     threads = tw.train.start_queue_runners(sess, coordinator)
    ...     [int(sess.run(number)) for _ in range(4)]
    ...     coordinator.request_stop()
    ...     coordinator.join(threads)
    [0, 1, 2, 0]
    """
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(math_ops.range_(limit), [], num_epochs, shuffle, seed, capacity, shared_name,
                              f"fraction_of_{capacity}_full", scope)


def slice_input_producer(tensor_list: Sequence[TensorLike], num_epochs: int | None = None, shuffle: bool = True,
                         seed: int | None = None, capacity: int = 32, shared_name: str | None = None,
                         name: str | None = None) -> list[Tensor]:
    """One row of each tensor in every step.

    Parameters
    ----------
    tensor_list : list of Tensor
        As many rows in each.
    num_epochs : int, optional
        How often each row comes; after that OutOfRangeError. Counted by a local variable.
    shuffle : bool
        Whether each epoch has an order of its own.
    seed : int, optional
        Seed of the order.
    capacity : int
        How many numbers of rows may wait.
    shared_name : str, optional
        The queue is the same for all sessions of a cluster that use this name.
    name : str, optional
        Name of the scope.

    Returns
    -------
    list of Tensor
        The rows: as the tensors, without their first dimension.

    Raises
    ------
    ValueError
        If there are no tensors.

    Examples
    --------
    >>> x, y = tw.train.slice_input_producer([tw.constant([1, 2]), tw.constant([10, 20])], shuffle=False)
    >>> with tw.Session() as sess:
    ...     coordinator = tw.train.Coordinator()
    ...     threads = tw.train.start_queue_runners(sess, coordinator)
    ...     print(*sess.run([x, y]))
    ...     coordinator.request_stop()
    ...     coordinator.join(threads)
    1 10
    """
    with name_scope(name, "input_producer", list(tensor_list)):
        tensor_list = [convert_to_tensor(t) for t in tensor_list]
        if not tensor_list:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        rows = array_ops.shape(tensor_list[0])[0]
        index = range_input_producer(rows, num_epochs, shuffle, seed, capacity, shared_name).dequeue()
        return [array_ops.gather(t, index) for t in tensor_list]


# ---- batches ----
def _flat(tensors):
    """The tensors in a list, and a function from such a list back to what was given."""
    if isinstance(tensors, dict):
        keys = sorted(tensors)
        return [tensors[k] for k in keys], lambda flat: dict(zip(keys, flat if isinstance(flat, list) else [flat]))
    if isinstance(tensors, (list, tuple)):
        return list(tensors), lambda flat: flat
    return [tensors], lambda flat: flat


def _validated(tensor_lists):
    """Lists of tensors, alike in number and types."""
    if not tensor_lists or not tensor_lists[0]:
        raise ValueError("Expected at least one tensor in batch().")
    lists = [[t if isinstance(t, SparseTensor) else convert_to_tensor(t) for t in tensors] for tensors in tensor_lists]
    for same in zip(*lists):
        if len({isinstance(t, SparseTensor) for t in same}) > 1:
            raise TypeError("Expected a SparseTensor in all of the lists at the same place, or in none.")
    kinds = [[t.dtype.base_dtype for t in tensors] for tensors in lists]
    if any(k != kinds[0] for k in kinds):
        raise TypeError(f"Expected types to be consistent: {kinds[0]} vs. {next(k for k in kinds if k != kinds[0])}.")
    return lists, kinds[0]


def _keep(keep_input, enqueue_many):
    keep = convert_to_tensor(keep_input, dtype=dtypes.bool)
    if keep.shape.ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if keep.shape.ndims == 1 and not enqueue_many:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _element_shapes(lists, shapes, enqueue_many):
    """Of what the queue holds: for a SparseTensor, a handle."""
    if shapes is not None:
        return [[] if isinstance(t, SparseTensor) else shape for t, shape in zip(lists[0], shapes)]
    merged = []
    for same in zip(*lists):
        if isinstance(same[0], SparseTensor):
            merged.append(TensorShape([]))
            continue
        found = [t.shape.with_rank_at_least(1)[1:] if enqueue_many else t.shape for t in same]
        shape = found[0]
        for other in found[1:]:
            shape = shape.merge_with(other)
        if shape.ndims is None:
            raise ValueError(f"Cannot infer Tensor's rank: {same[0]}")
        merged.append(shape)
    return merged


def _enqueue(queue, tensors, keep_input, keep, enqueue_many):
    """The operation of one thread: all of the tensors, or those that are to be kept."""
    def put(values):
        store = sparse_ops.store_many_sparse if enqueue_many else sparse_ops.store_sparse
        handles = [store(t, _map_name(queue, i)) if isinstance(t, SparseTensor) else t for i, t in enumerate(values)]
        return (queue.enqueue_many if enqueue_many else queue.enqueue)(handles)

    def kept(tensor):
        if isinstance(tensor, SparseTensor):
            return sparse_ops.retain_rows(tensor, keep)
        return apply("DynamicPartition", [tensor, math_ops.cast(keep, dtypes.int32)], {"num_partitions": 2})[1]
    if keep_input is True or keep_input is False:
        return put(tensors) if keep_input else ops.no_op()
    if keep.shape.ndims == 1:
        return put([kept(t) for t in tensors])
    return cond(keep, lambda: put(tensors), ops.no_op)


def _map_name(queue, i):
    """Of the map that keeps the SparseTensors whose handles are component i."""
    return f"{queue.name}/sparse_map_{i}"


def _taken(queue, lists, batch, enqueue_many):
    """What was dequeued, with SparseTensors for their handles."""
    if not any(isinstance(t, SparseTensor) for t in lists[0]):
        return batch
    values = []
    for i, (given, value) in enumerate(zip(lists[0], batch if isinstance(batch, list) else [batch])):
        if isinstance(given, SparseTensor):
            rank = given.dense_shape.shape.num_elements()
            rank = rank if rank is None or enqueue_many else rank + 1
            value = sparse_ops.take_many_sparse(value, given.dtype, rank, _map_name(queue, i))
        values.append(value)
    return values if isinstance(batch, list) else values[0]


def _batch(default_name, tensor_lists, restore, keep_input, batch_size, threads, capacity, enqueue_many, shapes, dynamic_pad,
           allow_smaller_final_batch, shared_name, name, shuffle=None):
    """What all of the functions below do; `shuffle` is (min_after_dequeue, seed) or None."""
    values = [t for tensors in tensor_lists for t in tensors if not isinstance(t, SparseTensor)]
    with name_scope(name, default_name, values) as scope:
        lists, types = _validated(tensor_lists)
        types = [dtypes.int64 if isinstance(t, SparseTensor) else kind for t, kind in zip(lists[0], types)]
        keep = _keep(keep_input, enqueue_many)
        shapes = _element_shapes(lists, shapes, enqueue_many)
        if shuffle is not None:
            queue = data_flow_ops.RandomShuffleQueue(capacity, shuffle[0], types, shapes, seed=shuffle[1],
                                                     shared_name=shared_name)
        else:
            kind = data_flow_ops.PaddingFIFOQueue if dynamic_pad else data_flow_ops.FIFOQueue
            queue = kind(capacity, types, shapes, shared_name=shared_name)
        enqueues = [_enqueue(queue, tensors, keep_input, keep, enqueue_many) for tensors in lists]
        add_queue_runner(QueueRunner(queue, enqueues * threads))
        if shuffle is None:
            _summarize(f"fraction_of_{capacity}_full", queue.size(), capacity)
        else:
            least = shuffle[0]
            _summarize(f"fraction_over_{least}_of_{capacity - least}_full",
                       apply("Maximum", [0, queue.size() - least]), capacity - least)
        take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
        return restore(_taken(queue, lists, take(batch_size, name=scope), enqueue_many))


def batch(tensors: Sequence[TensorLike | SparseTensor] | Mapping[str, TensorLike | SparseTensor] | TensorLike,
          batch_size: IntLike, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False,
          shapes: Sequence[ShapeLike] | None = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
          shared_name: str | None = None, name: str | None = None) -> Any:
    """Batches of the values that tensors have in successive steps.

    A thread of a queue runner takes the values: start_queue_runners() starts it.

    Parameters
    ----------
    tensors : list or dict of Tensor or SparseTensor
        What to batch; types and, without `dynamic_pad`, shapes must be known.
    batch_size : int or Tensor
        How many values a batch has.
    num_threads : int
        How many threads take values; with more than one their order is open.
    capacity : int
        How many values may wait.
    enqueue_many : bool
        Whether the tensors have many values in each step, along their first dimension.
    shapes : list of TensorShape, optional
        Shapes of the values; those of the tensors by default.
    dynamic_pad : bool
        Whether dimensions may differ, and are filled up within a batch.
    allow_smaller_final_batch : bool
        Whether what is left at the end is a batch too.
    shared_name : str, optional
        The queue is the same for all sessions of a cluster that use this name.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor or list or dict of Tensor
        As `tensors` is, of shapes [batch_size, ...].

    Raises
    ------
    ValueError
        If there are no tensors or their shapes are not known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     x = tw.train.batch([tw.constant([1, 2])], batch_size=3)
    ...     coordinator = tw.train.Coordinator()
    ...     threads = tw.train.start_queue_runners(sess, coordinator)
    ...     sess.run(x)
    ...     coordinator.request_stop()
    ...     coordinator.join(threads)
    array([[1, 2],
           [1, 2],
           [1, 2]], dtype=int32)
    """
    return maybe_batch(tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                       allow_smaller_final_batch, shared_name, name)


def maybe_batch(tensors: Sequence[TensorLike | SparseTensor] | Mapping[str, TensorLike | SparseTensor] | TensorLike,
                keep_input: bool | TensorLike, batch_size: IntLike, num_threads: int = 1, capacity: int = 32,
                enqueue_many: bool = False, shapes: Sequence[ShapeLike] | None = None, dynamic_pad: bool = False,
                allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None) -> Any:
    """batch() of the values for which `keep_input` holds."""
    flat, restore = _flat(tensors)
    return _batch("batch", [flat], restore, keep_input, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                  allow_smaller_final_batch, shared_name, name)


def batch_join(tensors_list: Sequence[Sequence[TensorLike | SparseTensor] | Mapping[str, TensorLike | SparseTensor]],
               batch_size: IntLike, capacity: int = 32, enqueue_many: bool = False, shapes: Sequence[ShapeLike] | None = None,
               dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
               name: str | None = None) -> Any:
    """batch() of several lists of tensors, with a thread for each."""
    return maybe_batch_join(tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad,
                            allow_smaller_final_batch, shared_name, name)


def maybe_batch_join(tensors_list: Sequence[Sequence[TensorLike | SparseTensor] | Mapping[str, TensorLike | SparseTensor]],
                     keep_input: bool | TensorLike, batch_size: IntLike, capacity: int = 32, enqueue_many: bool = False,
                     shapes: Sequence[ShapeLike] | None = None, dynamic_pad: bool = False,
                     allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None) -> Any:
    """batch_join() of the values for which `keep_input` holds."""
    lists, restore = _flat_lists(tensors_list)
    return _batch("batch_join", lists, restore, keep_input, batch_size, 1, capacity, enqueue_many, shapes, dynamic_pad,
                  allow_smaller_final_batch, shared_name, name)


def shuffle_batch(tensors: Sequence[TensorLike | SparseTensor] | Mapping[str, TensorLike | SparseTensor] | TensorLike,
                  batch_size: IntLike, capacity: int, min_after_dequeue: int, num_threads: int = 1, seed: int | None = None,
                  enqueue_many: bool = False, shapes: Sequence[ShapeLike] | None = None, allow_smaller_final_batch: bool = False,
                  shared_name: str | None = None, name: str | None = None) -> Any:
    """Batches in random order: each value is drawn from at least `min_after_dequeue` others.

    Parameters
    ----------
    tensors : list or dict of Tensor or SparseTensor
        What to batch; types and shapes must be known.
    batch_size : int or Tensor
        How many values a batch has.
    capacity : int
        How many values may wait.
    min_after_dequeue : int
        How many wait at least behind a batch.
    num_threads : int
        How many threads take values.
    seed : int, optional
        Seed of what is drawn.
    enqueue_many : bool
        Whether the tensors have many values in each step, along their first dimension.
    shapes : list of TensorShape, optional
        Shapes of the values; those of the tensors by default.
    allow_smaller_final_batch : bool
        Whether what is left at the end is a batch too.
    shared_name : str, optional
        The queue is the same for all sessions of a cluster that use this name.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor or list or dict of Tensor
        As `tensors` is, of shapes [batch_size, ...].

    Raises
    ------
    ValueError
        If there are no tensors or their shapes are not known.

    Examples
    --------
    >>> x = tw.train.shuffle_batch([tw.range(4)], 4, capacity=8, min_after_dequeue=0, enqueue_many=True, num_threads=1)
    >>> with tw.Session() as sess:
    ...     coordinator = tw.train.Coordinator()
    ...     threads = tw.train.start_queue_runners(sess, coordinator)
    ...     sess.run(x).shape
    ...     coordinator.request_stop()
    ...     coordinator.join(threads)
    (4,)
    """
    return maybe_shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many, shapes,
                               allow_smaller_final_batch, shared_name, name)


def maybe_shuffle_batch(tensors: Sequence[TensorLike | SparseTensor] | Mapping[str, TensorLike | SparseTensor] | TensorLike,
                        batch_size: IntLike, capacity: int, min_after_dequeue: int, keep_input: bool | TensorLike,
                        num_threads: int = 1, seed: int | None = None, enqueue_many: bool = False,
                        shapes: Sequence[ShapeLike] | None = None, allow_smaller_final_batch: bool = False,
                        shared_name: str | None = None, name: str | None = None) -> Any:
    """shuffle_batch() of the values for which `keep_input` holds."""
    flat, restore = _flat(tensors)
    return _batch("shuffle_batch", [flat], restore, keep_input, batch_size, num_threads, capacity, enqueue_many, shapes, False,
                  allow_smaller_final_batch, shared_name, name, (min_after_dequeue, seed))


def shuffle_batch_join(tensors_list: Sequence[Sequence[TensorLike | SparseTensor] | Mapping[str, TensorLike | SparseTensor]],
                       batch_size: IntLike, capacity: int, min_after_dequeue: int, seed: int | None = None,
                       enqueue_many: bool = False, shapes: Sequence[ShapeLike] | None = None,
                       allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None) -> Any:
    """shuffle_batch() of several lists of tensors, with a thread for each."""
    return maybe_shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
                                    allow_smaller_final_batch, shared_name, name)


def maybe_shuffle_batch_join(tensors_list: Sequence[Sequence[TensorLike | SparseTensor] | Mapping[str, TensorLike | SparseTensor]],
                             batch_size: IntLike, capacity: int, min_after_dequeue: int, keep_input: bool | TensorLike,
                             seed: int | None = None, enqueue_many: bool = False, shapes: Sequence[ShapeLike] | None = None,
                             allow_smaller_final_batch: bool = False, shared_name: str | None = None,
                             name: str | None = None) -> Any:
    """shuffle_batch_join() of the values for which `keep_input` holds."""
    lists, restore = _flat_lists(tensors_list)
    return _batch("shuffle_batch_join", lists, restore, keep_input, batch_size, 1, capacity, enqueue_many, shapes, False,
                  allow_smaller_final_batch, shared_name, name, (min_after_dequeue, seed))


def _flat_lists(tensors_list):
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    flats = [_flat(tensors) for tensors in tensors_list]
    return [flat for flat, _ in flats], flats[0][1]
