# SPDX-License-Identifier: Apache-2.0
"""What tw.data.experimental gives to `dataset.apply(...)`."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.control.type_specs import SparseTensorSpec, TensorSpec
from thalweg.data import structure
from thalweg.data.dataset_functions import ElementFunction
from thalweg.data.making import int64 as _int64, make, seeds_of
from thalweg.data.reducing import stateful_function
from thalweg.data.structure import dataset_class
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import TensorShape
from thalweg.ragged.specs import RaggedTensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.base.typing import DTypeLike, IntLike, ShapeLike, Text
    from thalweg.data.dataset import Dataset
    from thalweg.graph.tensor import Tensor

    Transformation = Callable[[Dataset], Dataset]

_INT64 = TensorSpec([], dtypes.int64)


def Counter(start: IntLike = 0, step: IntLike = 1, dtype: dtypes.DType = dtypes.int64) -> Dataset:  # noqa: N802
    """start, start + step ... without end."""
    ends = np.iinfo(np.int64)
    counted = dataset_class().range(start, ends.max if step > 0 else ends.min, step)
    return counted if dtype == dtypes.int64 else counted.map(lambda x: apply("Cast", [x], {"DstT": dtypes.as_dtype(dtype)}))


def RandomDataset(seed: int | None = None) -> Dataset:  # noqa: N802
    """Random int64s without end."""
    return make("RandomDataset", seeds_of(seed), _INT64)


def cardinality(dataset: Dataset) -> Tensor:
    """How many elements: INFINITE_CARDINALITY without end, UNKNOWN_CARDINALITY where nobody knows."""
    return apply("DatasetCardinality", [dataset._variant])


def assert_cardinality(expected_cardinality: IntLike) -> Transformation:
    """The dataset must have so many elements."""
    return lambda dataset: dataset._made("AssertCardinalityDataset", [_int64(expected_cardinality)])


def enumerate_dataset(start: IntLike = 0) -> Transformation:
    """Pairs of a number and an element."""
    return lambda dataset: dataset.enumerate(start)


def ignore_errors() -> Transformation:
    """The elements that do not fail."""
    return lambda dataset: dataset._made("IgnoreErrorsDataset", [])


def rebatch(dataset: Dataset, batch_size: object, drop_remainder: bool, name: str | None) -> Dataset:
    """See Dataset.rebatch."""
    size = int(batch_size) if drop_remainder is True and isinstance(batch_size, (int, np.integer)) else None
    return dataset._made("RebatchDatasetV2", [_int64(batch_size), convert_to_tensor(drop_remainder, dtypes.bool)], None,
                         structure.batched(structure.rows(dataset.element_spec), size), name)


def unbatch() -> Transformation:
    """The rows of the elements."""
    return lambda dataset: dataset.unbatch()


def shuffle_and_repeat(buffer_size: IntLike, count: IntLike | None = None, seed: int | None = None) -> Transformation:
    """Shuffled, several times."""
    return lambda dataset: dataset._made(
        "ShuffleAndRepeatDataset", [_int64(buffer_size), *seeds_of(seed), _int64(-1 if count is None else count)])


def map_and_batch(map_func: Callable[..., object], batch_size: IntLike, num_parallel_batches: int | None = None,
                  drop_remainder: bool = False, num_parallel_calls: int | None = None) -> Transformation:
    """Makes a transformation that maps elements and batches what comes out.

    Parameters
    ----------
    map_func : callable
        Of the components of an element.
    batch_size : int, or scalar int64 tensor
    num_parallel_batches : int, optional
        How many batches are made at once.
    drop_remainder : bool
        Whether a last batch that is smaller is dropped.
    num_parallel_calls : int, optional
        How many elements are mapped at once, instead of `num_parallel_batches`.

    Returns
    -------
    callable
        For Dataset.apply.

    Raises
    ------
    ValueError
        Both numbers of parallel work are given.

    Examples
    --------
    >>> squares = tw.data.Dataset.range(4).apply(tw.contrib.data.map_and_batch(lambda x: x * x, 2))
    >>> batch = squares.make_one_shot_iterator().get_next()
    >>> with tw.Session() as sess:
    ...     print(sess.run(batch), sess.run(batch))
    [0 1] [4 9]
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError("`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to be set, but "
                         f"`num_parallel_batches` was set to {num_parallel_batches} and `num_parallel_calls` was set to "
                         f"{num_parallel_calls}")
    calls = num_parallel_calls if num_parallel_calls is not None else batch_size * (num_parallel_batches or 1)

    def transform(dataset: Dataset) -> Dataset:
        return dataset.map(map_func, num_parallel_calls=calls).batch(batch_size, drop_remainder)
    return transform


def parallel_interleave(map_func: Callable[..., Dataset], cycle_length: IntLike, block_length: IntLike = 1, sloppy: bool = False,
                        buffer_output_elements: IntLike | None = None, prefetch_input_elements: IntLike | None = None) -> Transformation:
    """Makes a transformation that maps elements to datasets and takes blocks of their elements in turn, which are made in advance.

    Parameters
    ----------
    map_func : callable
        Gives a Dataset.
    cycle_length : int, or scalar int64 tensor
        How many datasets are open at once.
    block_length : int, or scalar int64 tensor
        How many elements in a row come from one of them.
    sloppy : bool
        Whether a dataset that is late may be passed over, so that the order is not always the same.
    buffer_output_elements : int, optional
        How many elements of each dataset are kept.
    prefetch_input_elements : int, optional
        How many datasets are begun in advance.

    Returns
    -------
    callable
        For Dataset.apply.

    Examples
    --------
    >>> both = tw.contrib.data.parallel_interleave(lambda x: tw.data.Dataset.from_tensors(x).repeat(2), cycle_length=2)
    >>> element = tw.data.Dataset.range(2).apply(both).make_one_shot_iterator().get_next()
    >>> with tw.Session() as sess:
    ...     print([int(sess.run(element)) for _ in range(4)])
    [0, 1, 0, 1]
    """
    def transform(dataset: Dataset) -> Dataset:
        function, spec = dataset._to_datasets(map_func, "interleave")
        ahead = 2 * block_length if buffer_output_elements is None else buffer_output_elements
        first = 2 * cycle_length if prefetch_input_elements is None else prefetch_input_elements
        return dataset._made("ParallelInterleaveDataset",
                             [function.captured, _int64(cycle_length), _int64(block_length), convert_to_tensor(sloppy, dtypes.bool),
                              _int64(ahead), _int64(first)], {"f": function.defined}, spec)
    return transform


def scan(initial_state: object, scan_func: Callable[..., object]) -> Transformation:
    """What `scan_func(state, element)`, which gives (next state, element), makes of each element."""
    def transform(dataset: Dataset) -> Dataset:
        def next_of(given: object) -> object:
            if not isinstance(given, tuple) or len(given) != 2:
                raise TypeError("The scan function must return a pair comprising the new state and the output value.")
            return given[0]
        function, spec = stateful_function(scan_func, structure.spec_of_value(initial_state), dataset.element_spec, "scan", next_of)
        return dataset._made("ScanDataset", [structure.to_tensors(spec, initial_state), function.captured],
                             {"f": function.defined, "preserve_cardinality": True}, function.output_structure[1])
    return transform


def dense_to_sparse_batch(batch_size: IntLike, row_shape: object) -> Transformation:
    """`batch_size` tensors as the rows of one SparseTensor; `row_shape`: of a row, None in it: as the largest of the batch has."""
    def transform(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec):
            raise TypeError("`dense_to_sparse_batch` requires an input dataset whose elements have a single component, but the given "
                            f"dataset has the following component types: {dataset.output_types}.")
        shape = TensorShape(row_shape)
        dims = np.array([-1 if d is None else d for d in shape.as_list()], np.int64)
        return dataset._made("DenseToSparseBatchDataset", [_int64(batch_size), convert_to_tensor(dims)], None,
                             SparseTensorSpec(TensorShape([None]).concatenate(shape), spec.dtype))
    return transform


def dense_to_ragged_batch(batch_size: IntLike, drop_remainder: bool = False,
                          row_splits_dtype: DTypeLike = dtypes.int64) -> Transformation:
    """`batch_size` elements as one: components whose shapes are not wholly known become RaggedTensors."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def snapshot(path: Text, compression: Text | None = "AUTO", reader_func: Callable[[Dataset], Dataset] | None = None,
             shard_func: Callable[..., object] | None = None) -> Transformation:
    """The same elements, which the first whole pass writes into files below `path`, and later ones read there."""
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def take_while(predicate: Callable[..., object]) -> Transformation:
    """The elements before the first for which `predicate` gives false."""
    def transform(dataset: Dataset) -> Dataset:
        function = ElementFunction(predicate, dataset.element_spec, "take_while").expect(TensorSpec([], dtypes.bool))
        return dataset._made("TakeWhileDataset", [function.captured], {"predicate": function.defined})
    return transform


def prefetch_to_device(device: object, buffer_size: IntLike | None = None) -> Transformation:
    """Elements made before they are asked for."""
    return lambda dataset: dataset.prefetch(-1 if buffer_size is None else buffer_size)


def to_variant(dataset: Dataset) -> Tensor:
    """The dataset as a variant scalar."""
    return dataset._variant


def from_variant(variant: Tensor, structure: object) -> Dataset:
    """The dataset in a variant scalar, whose elements are of this structure."""
    return dataset_class()._of(variant, structure)


def RaggedTensorStructure(dtype: DTypeLike, shape: ShapeLike, ragged_rank: int) -> RaggedTensorSpec:  # noqa: N802
    """The specification of RaggedTensors, by its older name."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)


def get_structure(dataset_or_iterator: object) -> object:
    """The structure of the elements' specifications."""
    return dataset_or_iterator.element_spec
