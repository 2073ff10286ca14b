# SPDX-License-Identifier: Apache-2.0
"""Between steps: queues, barriers, accumulators; staging areas are in staging.py."""
from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from thalweg import dtypes as dtypes_module, nest
from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import Dimension, TensorShape
from thalweg.graph.tensor import IndexedSlices, op_name_of
from thalweg.operations import array_ops, math_ops
from thalweg.operations.staging import BaseStagingArea, MapStagingArea, StagingArea  # noqa: F401  (public here as well)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, DynamicShape, IntLike, Nested, ShapeLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.tensor import Operation, Tensor


def _as_type_list(dtypes):
    return [dtypes_module.as_dtype(d) for d in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]


def _as_shape_list(shapes, dtypes, unknown_dim_allowed=False):
    """A TensorShape for each component, or None."""
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (tuple, list)):
        raise TypeError("shapes must be a TensorShape or a list or tuple of TensorShapes.")
    if all(shape is None or isinstance(shape, int) for shape in shapes):
        shapes = [shapes]  # one shape
    shapes = [TensorShape(shape) for shape in shapes]
    if any(shape.ndims is None for shape in shapes):
        raise ValueError(f"All shapes must have a defined rank: {shapes}")
    if not unknown_dim_allowed and not all(shape.is_fully_defined() for shape in shapes):
        raise ValueError(f"All shapes must be fully defined: {shapes}")
    if len(shapes) != len(dtypes):
        raise ValueError(f"Queue shapes must have the same length as dtypes, received {len(shapes)} shapes, "
                         f"{len(dtypes)} dtypes")
    return shapes


def _as_name_list(names, dtypes):
    if names is None:
        return None
    if not isinstance(names, (list, tuple)):
        names = [names]
    if len(names) != len(dtypes):
        raise ValueError(f"List of names must have the same length as the list of dtypes, received len(names)={len(names)},"
                         f"len(dtypes)={len(dtypes)}")
    return list(names)


class QueueBase:
    """What all queues have: enqueue, dequeue, close, size."""

    def __init__(self, dtypes: Sequence[DTypeLike] | DTypeLike, shapes: Sequence[ShapeLike] | None, names: Sequence[str] | None,
                 queue_ref: Tensor) -> None:
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("Queue shapes must have the same length as dtypes, "
                             f"received {len(shapes)} shapes, {len(dtypes)} dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("Queue names must have the same length as dtypes,"
                             f"received {len(names)} names, {len(dtypes)} dtypes")
        self._dtypes, self._names, self._queue_ref = list(dtypes), names, queue_ref
        self._shapes = [TensorShape(s) for s in shapes] if shapes is not None else [TensorShape(None) for _ in dtypes]
        self._name = op_name_of(queue_ref).split("/")[-1]

    @staticmethod
    def from_list(index: IntLike, queues: Sequence[QueueBase]) -> QueueBase:
        """A queue that is queues[index]."""
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(first.dtypes == q.dtypes for q in queues[1:]):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(first.names == q.names for q in queues[1:]):
            raise TypeError("Queues do not have matching component names.")
        shapes = [_common_shape(same) for same in zip(*[q.shapes for q in queues])]
        refs = array_ops.stack([q.queue_ref for q in queues])
        return QueueBase(first.dtypes, shapes, first.names, array_ops.gather(refs, index))

    @property
    def queue_ref(self) -> Tensor: return self._queue_ref
    @property
    def name(self) -> str: return op_name_of(self._queue_ref)
    @property
    def dtypes(self) -> list[DType]: return self._dtypes
    @property
    def shapes(self) -> list[TensorShape]: return self._shapes
    @property
    def names(self) -> Sequence[str] | None: return self._names

    def _components(self, vals):
        """The values of an element in their order."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(f"Keys in dictionary to enqueue do not match names of Queue.  Dictionary: {sorted(vals)},"
                                 f"Queue: {sorted(self._names)}")
            vals = [vals[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, (list, tuple)):
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(f"Expected {len(self._dtypes)} components, got {len(vals)}")
        return [convert_to_tensor(v, dtype=d, name=f"component_{i}") for i, (v, d) in enumerate(zip(vals, self._dtypes))]

    @staticmethod
    def _tensors_in(vals):
        return list(vals.values()) if isinstance(vals, dict) else nest.flatten(vals)

    def enqueue(self, vals: Nested, name: str | None = None) -> Operation:
        """An operation that puts one element in; it waits for room."""
        with name_scope(name, f"{self._name}_enqueue", self._tensors_in(vals)) as scope:
            vals = self._components(vals)
            for val, shape in zip(vals, self._shapes):
                val.shape.assert_is_compatible_with(shape)
            return apply("QueueEnqueueV2", [self._queue_ref, vals], name=scope)

    def enqueue_many(self, vals: Nested, name: str | None = None) -> Operation:
        """An operation that puts in each row of the values; it waits for room."""
        with name_scope(name, f"{self._name}_EnqueueMany", self._tensors_in(vals)) as scope:
            vals = self._components(vals)
            count = Dimension(None)
            for val, shape in zip(vals, self._shapes):
                count = count.merge_with(val.shape.with_rank_at_least(1)._size(0))
                val.shape[1:].assert_is_compatible_with(shape)
            return apply("QueueEnqueueManyV2", [self._queue_ref, vals], name=scope)

    def _given(self, tensors, first=None):
        """What a dequeue returns: a tensor, a list or a dict; `first` is the batch's dimension."""
        tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(shape if first is None else TensorShape(first).concatenate(shape))
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def dequeue(self, name: str | None = None) -> Any:
        """Takes one element; the step waits until there is one.

        Parameters
        ----------
        name : str, optional

        Returns
        -------
        Tensor, or list or dict of such
            A tensor for each component: a list, or a dict of a queue whose components have names.

        Raises
        ------
        errors.OutOfRangeError
            In a step: the queue is closed and empty.

        Examples
        --------
        >>> queue = tw.FIFOQueue(2, tw.int32, shapes=[[]])
        >>> with tw.Session() as sess:
        ...     sess.run(queue.enqueue(7))
        ...     print(sess.run(queue.dequeue()))
        7
        """
        return self._given(apply("QueueDequeueV2", [self._queue_ref], {"component_types": self._dtypes},
                                 name or f"{self._name}_Dequeue"))

    def dequeue_many(self, n: IntLike, name: str | None = None) -> Any:
        """A batch of n elements; waits for them."""
        made = apply("QueueDequeueManyV2", [self._queue_ref, n], {"component_types": self._dtypes},
                     name or f"{self._name}_DequeueMany")
        return self._given(made, [n if isinstance(n, int) else None])

    def dequeue_up_to(self, n: IntLike, name: str | None = None) -> Any:
        """A batch of n elements, or of those left when the queue is closed."""
        made = apply("QueueDequeueUpToV2", [self._queue_ref, n], {"component_types": self._dtypes},
                     name or f"{self._name}_DequeueUpTo")
        return self._given(made, [None])

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """An operation after which nothing more can be put in."""
        return apply("QueueCloseV2", [self._queue_ref], {"cancel_pending_enqueues": cancel_pending_enqueues},
                     name or f"{self._name}_Close")

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed, as a bool scalar."""
        return apply("QueueIsClosedV2", [self._queue_ref], name=name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> Tensor:
        """How many elements are in the queue, as an int32 scalar."""
        return apply("QueueSizeV2", [self._queue_ref], name=name or f"{self._name}_Size")


def _common_shape(shapes):
    """What is the same in all of them."""
    shapes = list(shapes)
    if any(s.ndims is None or s.ndims != shapes[0].ndims for s in shapes):
        return TensorShape(None)
    rows = [s.as_list() for s in shapes]
    return TensorShape([d[0] if all(x == d[0] for x in d) else None for d in zip(*rows)])


def _make(op, capacity, dtypes, shapes, shared_name, name, **more):
    attrs = {"component_types": dtypes, "shapes": shapes or [], "capacity": capacity, "shared_name": shared_name or "", **more}
    return apply(op, [], attrs, name)


class FIFOQueue(QueueBase):
    """Elements come out in the order in which they went in."""

    def __init__(self, capacity: int, dtypes: Sequence[DTypeLike] | DTypeLike, shapes: Sequence[ShapeLike] | None = None,
                 names: Sequence[str] | None = None, shared_name: str | None = None, name: str = "fifo_queue") -> None:
        dtypes = _as_type_list(dtypes)
        shapes = _as_shape_list(shapes, dtypes)
        names = _as_name_list(names, dtypes)
        super().__init__(dtypes, shapes, names, _make("FIFOQueueV2", capacity, dtypes, shapes, shared_name, name))


class RandomShuffleQueue(QueueBase):
    """Any of the elements comes out; `min_after_dequeue` of them stay until the queue is closed."""

    def __init__(self, capacity: int, min_after_dequeue: int, dtypes: Sequence[DTypeLike] | DTypeLike,
                 shapes: Sequence[ShapeLike] | None = None, names: Sequence[str] | None = None, seed: int | None = None,
                 shared_name: str | None = None, name: str = "random_shuffle_queue") -> None:
        dtypes = _as_type_list(dtypes)
        shapes = _as_shape_list(shapes, dtypes)
        names = _as_name_list(names, dtypes)
        seed1, seed2 = graph.get_seed(seed)
        if seed1 is None and seed2 is None:
            seed1, seed2 = 0, 0
        elif seed is None and shared_name is not None:
            # Of all that share the queue the first makes it: its seeds must not depend on which graph that is.
            seed2 = int(hashlib.md5(f"{seed1}{shared_name}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
        super().__init__(dtypes, shapes, names, _make("RandomShuffleQueueV2", capacity, dtypes, shapes, shared_name, name,
                                                      min_after_dequeue=min_after_dequeue, seed=seed1, seed2=seed2))


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue of elements of several sizes; batches are padded to the largest."""

    def __init__(self, capacity: int, dtypes: Sequence[DTypeLike] | DTypeLike, shapes: Sequence[ShapeLike],
                 names: Sequence[str] | None = None, shared_name: str | None = None, name: str = "padding_fifo_queue") -> None:
        dtypes = _as_type_list(dtypes)
        if shapes is not None and isinstance(shapes, (list, tuple)) and len(shapes) != len(dtypes) and \
                not all(s is None or isinstance(s, int) for s in shapes):
            raise ValueError(f"Shapes must be provided for all components, but received {len(dtypes)} dtypes and "
                             f"{len(shapes)} shapes.")
        shapes = _as_shape_list(shapes, dtypes, unknown_dim_allowed=True)
        names = _as_name_list(names, dtypes)
        super().__init__(dtypes, shapes, names, _make("PaddingFIFOQueueV2", capacity, dtypes, shapes, shared_name, name))


class PriorityQueue(QueueBase):
    """The element of the smallest number comes out first; the number, an int64, is component 0."""

    def __init__(self, capacity: int, types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] | None = None,
                 names: Sequence[str] | None = None, shared_name: str | None = None, name: str = "priority_queue") -> None:
        types = _as_type_list(types)
        shapes = _as_shape_list(shapes, types)
        ref = _make("PriorityQueueV2", capacity, types, shapes, shared_name, name)
        super().__init__([dtypes_module.int64] + types, [TensorShape([])] + shapes if shapes else None, None, ref)


class Barrier:
    """Elements by key whose components come one by one; those that have all can be taken."""

    def __init__(self, types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] | None = None, shared_name: str | None = None,
                 name: str = "barrier") -> None:
        self._types = _as_type_list(types)
        shapes = _as_shape_list(shapes, self._types)
        for i, shape in enumerate(shapes or []):
            if shape.num_elements() == 0:
                raise ValueError(f"Empty tensors are not supported, but received shape '{shape}' at index {i}")
        self._shapes = shapes or [TensorShape(None)] * len(self._types)
        self._barrier_ref = apply("Barrier", [], {"component_types": self._types, "shapes": shapes or [],
                                                  "shared_name": shared_name or ""}, name)
        self._name = op_name_of(self._barrier_ref).split("/")[-1]

    @property
    def barrier_ref(self) -> Tensor: return self._barrier_ref
    @property
    def name(self) -> str: return op_name_of(self._barrier_ref)

    def insert_many(self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """An operation that gives the elements of these keys one of their components: rows of `values`."""
        name = name or f"{self._name}_BarrierInsertMany"
        return apply("BarrierInsertMany", [self._barrier_ref, keys, convert_to_tensor(values, self._types[component_index])],
                     {"component_index": component_index}, name)

    def take_many(self, num_elements: IntLike, allow_small_batch: bool = False, timeout: float | None = None,
                  name: str | None = None) -> Any:
        """(indices, keys, values) of so many elements; of a closed barrier, with allow_small_batch, of those that it has."""
        attrs = {"component_types": self._types, "allow_small_batch": allow_small_batch}
        if timeout is not None:
            attrs["timeout_ms"] = timeout
        made = apply("BarrierTakeMany", [self._barrier_ref, num_elements], attrs, name or f"{self._name}_BarrierTakeMany")
        count = None if allow_small_batch or not isinstance(num_elements, int) else num_elements
        made[0].set_shape([count])
        made[1].set_shape([count])
        for value, shape in zip(made[2], self._shapes):
            value.set_shape(TensorShape([count]).concatenate(shape))
        return made

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """An operation after which no new key can be put in."""
        return apply("BarrierClose", [self._barrier_ref], {"cancel_pending_enqueues": cancel_pending_enqueues},
                     name or f"{self._name}_BarrierClose")

    def ready_size(self, name: str | None = None) -> Tensor:
        """How many elements have all their components."""
        return apply("BarrierReadySize", [self._barrier_ref], name=name or f"{self._name}_BarrierReadySize")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many elements still lack components."""
        return apply("BarrierIncompleteSize", [self._barrier_ref], name=name or f"{self._name}_BarrierIncompleteSize")


# ---- accumulators ----
class ConditionalAccumulatorBase:
    """What both kinds of accumulators have."""

    _count_op, _step_op = "AccumulatorNumAccumulated", "AccumulatorSetGlobalStep"

    def __init__(self, dtype: DTypeLike, shape: ShapeLike, accumulator_ref: Tensor) -> None:
        self._dtype, self._shape, self._accumulator_ref = dtype, TensorShape(shape), accumulator_ref
        self._name = op_name_of(accumulator_ref).split("/")[-1]

    @property
    def accumulator_ref(self) -> Tensor: return self._accumulator_ref
    @property
    def dtype(self) -> DType: return self._dtype
    @property
    def name(self) -> str: return self._name

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients are there."""
        return apply(self._count_op, [self._accumulator_ref], name=name or f"{self._name}_NumAccumulated")

    def set_global_step(self, new_global_step: IntLike, name: str | None = None) -> Operation:
        """Gradients of older steps are stale from now on."""
        return apply(self._step_op, [self._accumulator_ref, math_ops.to_int64(new_global_step)], name=name)

    @staticmethod
    def _made(op, dtype, shape, shared_name, name, reduction_type):
        return apply(op, [], {"dtype": dtype, "shape": TensorShape(shape), "shared_name": shared_name or "",
                              "reduction_type": reduction_type}, name)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up gradients until enough are there to be taken."""

    _count_op, _step_op = "ResourceAccumulatorNumAccumulated", "ResourceAccumulatorSetGlobalStep"

    def __init__(self, dtype: DTypeLike, shape: ShapeLike = None, shared_name: str | None = None,
                 name: str = "conditional_accumulator", reduction_type: str = "MEAN") -> None:
        dtype = dtypes_module.as_dtype(dtype)
        super().__init__(dtype, shape, self._made("ResourceConditionalAccumulator", dtype, shape, shared_name, name,
                                                  reduction_type))

    def apply_grad(self, grad: TensorLike, local_step: IntLike = 0, name: str | None = None) -> Operation:
        """An operation that adds a gradient, unless it is stale."""
        grad = convert_to_tensor(grad, self._dtype)
        grad.shape.assert_is_compatible_with(self._shape)
        return apply("ResourceAccumulatorApplyGradient", [self._accumulator_ref, math_ops.to_int64(local_step), grad], name=name)

    def take_grad(self, num_required: IntLike, name: str | None = None) -> Tensor:
        """Mean or sum of the gradients; waits for so many."""
        out = apply("ResourceAccumulatorTakeGradient", [self._accumulator_ref, num_required], {"dtype": self._dtype}, name)
        out.set_shape(self._shape)
        return out


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up the rows of gradients until enough are there to be taken."""

    def __init__(self, dtype: DTypeLike, shape: ShapeLike = None, shared_name: str | None = None,
                 name: str = "sparse_conditional_accumulator", reduction_type: str = "MEAN") -> None:
        dtype = dtypes_module.as_dtype(dtype)
        super().__init__(dtype, shape, self._made("SparseConditionalAccumulator", dtype, shape, shared_name, name,
                                                  reduction_type))

    def apply_indexed_slices_grad(self, grad: IndexedSlices, local_step: IntLike = 0, name: str | None = None) -> Operation:
        """Adds a gradient, unless it is older than the accumulator's step."""
        return self.apply_grad(grad_indices=grad.indices, grad_values=grad.values, grad_shape=grad.dense_shape,
                               local_step=local_step, name=name)

    def apply_grad(self, grad_indices: TensorLike, grad_values: TensorLike, grad_shape: DynamicShape | None = None,
                   local_step: IntLike = 0, name: str | None = None) -> Operation:
        """An operation that adds rows, unless they are stale."""
        shape = [] if grad_shape is None else grad_shape
        return apply("SparseAccumulatorApplyGradient",
                     [self._accumulator_ref, math_ops.to_int64(local_step), math_ops.to_int64(grad_indices),
                      convert_to_tensor(grad_values, self._dtype), math_ops.to_int64(shape)],
                     {"has_known_shape": grad_shape is not None}, name)

    def take_grad(self, num_required: IntLike, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """(indices, values, shape) of mean or sum."""
        return apply("SparseAccumulatorTakeGradient", [self._accumulator_ref, num_required], {"dtype": self._dtype}, name)

    def take_indexed_slices_grad(self, num_required: IntLike, name: str | None = None) -> IndexedSlices:
        """The average of at least `num_required` gradients, which are then gone; waits for them."""
        made = self.take_grad(num_required, name)
        return IndexedSlices(indices=made[0], values=made[1], dense_shape=made[2])
