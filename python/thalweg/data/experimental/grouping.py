# SPDX-License-Identifier: Apache-2.0
"""Elements put together by a key: windows, reductions, buckets of sequences of similar length."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data import nest, structure
from thalweg.data.dataset_functions import ElementFunction
from thalweg.data.making import int64 as _int64
from thalweg.data.structure import DatasetSpec
from thalweg.graph.graph import control_dependencies
from thalweg.graph.ops import apply
from thalweg.graph.shapes import TensorShape
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops, math_ops
from thalweg.operations.checks import Assert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.base.typing import IntLike
    from thalweg.data.dataset import Dataset
    from thalweg.data.experimental.transformations import Transformation

_KEY = TensorSpec([], dtypes.int64)


def _key_function(function: Callable[..., object], spec: object, what: str) -> ElementFunction:
    def key(*element: object) -> Tensor:
        return _int64(function(*element))
    made = ElementFunction(key, spec, what)
    found = made.output_structure
    if not isinstance(found, TensorSpec) or not found.shape.is_compatible_with([]):
        raise ValueError(f"Invalid `{what}`. `{what}` must return a single `tf.int64` scalar tensor but its return type is {found}.")
    return made


def group_by_window(key_func: Callable[..., object], reduce_func: Callable[[Tensor, Dataset], Dataset],
                    window_size: IntLike | None = None, window_size_func: Callable[[Tensor], object] | None = None) -> Transformation:
    """Makes a transformation that groups elements by a key, and gives what a function makes of each full group.

    A group has `window_size` elements, or as many as `window_size_func(key)` says; those that are smaller come at the end.

    Parameters
    ----------
    key_func : callable
        Gives the key of an element, a scalar int64 tensor.
    reduce_func : callable
        Gives a Dataset of (key, Dataset of the group).
    window_size : int, or scalar int64 tensor, optional
    window_size_func : callable, optional
        Gives the size for a key. One of the two must be given.

    Returns
    -------
    callable
        For Dataset.apply.

    Raises
    ------
    ValueError
        Both sizes are given, or none.

    Examples
    --------
    >>> group = tw.contrib.data.group_by_window(lambda x: x % 2, lambda key, rows: rows.batch(2), window_size=2)
    >>> batch = tw.data.Dataset.range(4).apply(group).make_one_shot_iterator().get_next()
    >>> with tw.Session() as sess:
    ...     print(sess.run(batch), sess.run(batch))
    [0 2] [1 3]
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Either the `window_size` argument or the `window_size_func` argument must be specified.")
    size = window_size_func if window_size_func is not None else lambda key: window_size

    def transform(dataset: Dataset) -> Dataset:
        key = _key_function(key_func, dataset.element_spec, "key_func")
        size_of = _key_function(size, _KEY, "window_size_func")
        reduce = ElementFunction(reduce_func, (_KEY, DatasetSpec(dataset.element_spec)), "reduce_func")
        if not isinstance(reduce.output_structure, DatasetSpec):
            raise TypeError("Invalid `reduce_func`. `reduce_func` must return a single `tf.data.Dataset` object but its return type is "
                            f"{reduce.output_structure}.")
        return dataset._made("GroupByWindowDataset", [key.captured, reduce.captured, size_of.captured],
                             {"key_func": key.defined, "reduce_func": reduce.defined, "window_size_func": size_of.defined},
                             reduce.output_structure._element_spec)
    return transform


class Reducer:
    """What makes one value of many elements.

    Parameters
    ----------
    init_func : callable
        Of a key: the first state.
    reduce_func : callable
        Of a state and an element: the next state.
    finalize_func : callable
        Of the last state: the value.
    """

    def __init__(self, init_func: Callable[..., object], reduce_func: Callable[..., object], finalize_func: Callable[..., object]):
        self._init_func, self._reduce_func, self._finalize_func = init_func, reduce_func, finalize_func

    @property
    def init_func(self) -> Callable[..., object]:
        """Gives the first state."""
        return self._init_func

    @property
    def reduce_func(self) -> Callable[..., object]:
        """Gives the next state."""
        return self._reduce_func

    @property
    def finalize_func(self) -> Callable[..., object]:
        """Gives the value."""
        return self._finalize_func


def group_by_reducer(key_func: Callable[..., object], reducer: Reducer) -> Transformation:
    """What the reducer makes of all elements of one key, an element for each key, in the order of the keys."""
    def transform(dataset: Dataset) -> Dataset:
        key = _key_function(key_func, dataset.element_spec, "key_func")
        init = ElementFunction(reducer.init_func, _KEY, "init_func")
        state = init.output_structure
        reduce = ElementFunction(reducer.reduce_func, (state, dataset.element_spec), "reduce_func")
        while not _same_shapes(state, reduce.output_structure):
            # The shapes of states that grow are those that stay true of the next one.
            state = structure.wider(state, reduce.output_structure)
            reduce = ElementFunction(reducer.reduce_func, (state, dataset.element_spec), "reduce_func")
        finalize = ElementFunction(reducer.finalize_func, state, "finalize_func")
        return dataset._made("GroupByReducerDataset", [key.captured, init.captured, reduce.captured, finalize.captured],
                             {"key_func": key.defined, "init_func": init.defined, "reduce_func": reduce.defined,
                              "finalize_func": finalize.defined}, finalize.output_structure)
    return transform


def _same_shapes(state: object, following: object) -> bool:
    """Whether what is known of the shapes of a state is true of the next one; TypeError where that is of another type."""
    if structure.types_of(state) != structure.types_of(following):
        raise TypeError(f"Invalid `reducer`. The output types of `reducer.reduce_func` must match those of the state. Expected {state}; "
                        f"got {following}.")
    wider = structure.wider(state, following)
    return [str(s) for s in structure.shapes_of(state)] == [str(s) for s in structure.shapes_of(wider)]


def bucket_by_sequence_length(element_length_func: Callable[..., object], bucket_boundaries: Sequence[int],
                              bucket_batch_sizes: Sequence[int], padded_shapes: object = None, padding_values: object = None,
                              pad_to_bucket_boundary: bool = False, no_padding: bool = False,
                              drop_remainder: bool = False) -> Transformation:
    """Batches of elements of similar length, padded to the longest of each.

    Element number i goes to the bucket of the first boundary that is above its length; buckets have batch sizes of their own. With
    `pad_to_bucket_boundary` batches are padded to one less than the boundary, and one of elements that are no shorter than the last boundary
    is an InvalidArgumentError.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError(f"`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but `len(bucket_batch_sizes)="
                         f"{len(bucket_batch_sizes)}` and `len(bucket_boundaries)={len(bucket_boundaries)}`.")
    limits = np.asarray(list(bucket_boundaries), np.int64)
    sizes = np.asarray(bucket_batch_sizes, np.int64)

    def bucket(*element: object) -> Tensor:
        length = math_ops.cast(element_length_func(*element), dtypes.int64)
        return math_ops.reduce_sum(math_ops.cast(apply("GreaterEqual", [length, limits]), dtypes.int64))

    def size_of(which: Tensor) -> Tensor:
        return array_ops.gather(sizes, which)

    def batches(which: Tensor, group: Dataset) -> Dataset:
        size = size_of(which)
        if no_padding:
            return group.batch(size, drop_remainder=drop_remainder)
        fill = None
        if pad_to_bucket_boundary:
            with control_dependencies([Assert(which < len(limits), [
                    "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries).",
                    "The boundaries:", limits], summarize=len(limits))]):
                fill = array_ops.gather(limits - 1, which)
        return group.padded_batch(size, _padded_shapes(padded_shapes or group.output_shapes, fill), padding_values,
                                  drop_remainder=drop_remainder)
    return group_by_window(bucket, batches, window_size_func=size_of)


def _padded_shapes(shapes: object, fill: Tensor | None) -> object:
    """Shapes whose open dimensions are `fill`."""
    def padded(shape: object) -> object:
        shape = TensorShape(shape)
        if fill is None or shape.ndims is None or shape.is_fully_defined():
            return shape
        return array_ops.stack([fill if d is None else _int64(d) for d in shape.as_list()])
    return nest.pack(shapes, [padded(s) for s in nest.flatten(shapes)])
