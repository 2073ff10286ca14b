# SPDX-License-Identifier: Apache-2.0
"""Functions of RaggedTensors: of all their values, of chosen ones, and of several put together."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops, checks, math_ops, sorting
from thalweg.ragged import flat_values, indexing, partitions
from thalweg.ragged.ragged_tensor import RaggedTensor, RaggedTensorValue, ragged_or_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import IntLike, TensorLike
    from thalweg.dtypes import DType


def map_flat_values(op: Callable[..., object], *args: object, **kwargs: object) -> Any:
    """What `op` makes of the innermost values, as rows like those of its arguments.

    Parameters
    ----------
    op : function
        It gives a tensor with as many rows as the values have.
    *args, **kwargs
        Its arguments; those that are ragged have the same rows.

    Returns
    -------
    RaggedTensor

    Examples
    --------
    >>> rows = tw.ragged.constant([[1, 2, 3], [], [4, 5], [6]])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.ragged.map_flat_values(tw.multiply, rows, 10)).to_list())
    [[10, 20, 30], [], [40, 50], [60]]
    """
    rows = [RaggedTensor.from_value(v) for v in (*args, *kwargs.values()) if isinstance(v, (RaggedTensor, RaggedTensorValue))]
    if not rows:
        return op(*args, **kwargs)

    def flat(value):
        return RaggedTensor.from_value(value).flat_values if isinstance(value, (RaggedTensor, RaggedTensorValue)) else value
    return flat_values.with_flat_values(rows, op(*map(flat, args), **{key: flat(value) for key, value in kwargs.items()}))


def boolean_mask(data: TensorLike | RaggedTensor, mask: TensorLike | RaggedTensor, name: str | None = None) -> Tensor | RaggedTensor:
    """What is chosen by a mask, row by row.

    Parameters
    ----------
    data : Tensor or RaggedTensor
    mask : bool Tensor or RaggedTensor
        Of the first dimensions of `data`, at least one.
    name : str, optional

    Returns
    -------
    Tensor or RaggedTensor
        Of the rank of `data`: with a mask of rank 1 like `data`, with one of rank 2 or more rows of what is chosen.

    Examples
    --------
    >>> chosen = tw.ragged.boolean_mask([[1, 2, 3], [4, 5, 6]], [[True, False, True], [False, False, False]])
    >>> with tw.Session() as sess:
    ...     print(sess.run(chosen).to_list())
    [[1, 3], []]
    """
    with name_scope(name, "RaggedMask", [data, mask]):
        data, mask = ragged_or_tensor(data), ragged_or_tensor(mask, dtypes.bool)
        rank = mask.shape.ndims
        if rank is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        return _masked(data, mask, rank)


def ragged(value: Tensor | RaggedTensor, dtype: DType) -> RaggedTensor:
    """A dense tensor as rows."""
    if isinstance(value, RaggedTensor):
        return value
    return RaggedTensor._of(*indexing.Rows(dtype).rows(value, None, None))


def _masked(data, mask, rank):
    if rank == 1:
        if isinstance(data, Tensor):
            return array_ops.boolean_mask(data, mask)
        places = array_ops.reshape(array_ops.where(mask), [-1])
        return indexing.gather(data, places)
    given = next((value.row_splits.dtype.base_dtype for value in (data, mask) if isinstance(value, RaggedTensor)), dtypes.int64)
    data, mask = ragged(data, given), ragged(mask, given)
    conditions = [checks.assert_equal(data.row_splits, mask.row_splits, message="data and mask must have the same rows")] \
        if data.row_splits is not mask.row_splits else []
    if rank > 2:
        return RaggedTensor._of(_masked(data.values, mask.values, rank - 1), partitions.checked(data.row_splits, conditions, True))
    chosen = math_ops.cumsum(math_ops.cast(mask.values, given))
    splits = array_ops.gather(array_ops.concat([array_ops.zeros([1], given), chosen], axis=0),
                              partitions.checked(mask.row_splits, conditions, True))
    return RaggedTensor._of(_masked(data.values, mask.values, 1), splits)


def concat(rows: Sequence[RaggedTensor]) -> RaggedTensor:
    """The rows of each, one after the other; all of one ragged rank."""
    values = [r.values for r in rows]
    joined = concat(values) if isinstance(values[0], RaggedTensor) else array_ops.concat(values, axis=0)
    lengths = array_ops.concat([r.row_lengths() for r in rows], axis=0)
    return RaggedTensor._of(joined, partitions.splits_from_lengths(lengths))


def stack(values: Sequence[TensorLike | RaggedTensor], axis: int = 0, name: str | None = None) -> Tensor | RaggedTensor:
    """Several tensors, ragged or not, as the rows of one.

    Parameters
    ----------
    values : list of Tensor or RaggedTensor
        Of one rank and type.
    axis : int
        0: each becomes a row; 1: row i holds the rows i of all; and so on.
    name : str, optional

    Returns
    -------
    RaggedTensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.ragged.stack([[1, 2], [3], [4, 5, 6]])).to_list())
    [[1, 2], [3], [4, 5, 6]]
    """
    if not isinstance(values, (list, tuple)) or not values:
        raise ValueError("rt_inputs may not be empty.")
    with name_scope(name, "RaggedConcat"):
        given = [ragged_or_tensor(v) for v in values]
        ndims = next((v.shape.ndims for v in given if v.shape.ndims is not None), None)
        if axis < 0:
            if ndims is None:
                raise ValueError("axis may only be negative if ndims is statically known.")
            axis += ndims + 1
        dense = all(isinstance(v, Tensor) for v in given)
        if dense and ndims is not None and (axis == ndims or 0 < axis == ndims - 1):
            return array_ops.stack(given, axis=axis)
        dtype = next((v.row_splits.dtype.base_dtype for v in given if isinstance(v, RaggedTensor)), dtypes.int32 if ndims == 1 else dtypes.int64)
        if axis > 1:
            rows = [ragged(v, dtype) for v in given]
            splits = partitions.checked(rows[0].row_splits, flat_values.same_outer_rows(rows), True)
            return RaggedTensor._of(stack([r.values for r in rows], axis - 1), splits)
        rank = max((v.ragged_rank for v in given if isinstance(v, RaggedTensor)), default=0 if ndims == 1 else 1)
        if axis == 0:
            rows = [rows_of_rank(v, rank, dtype) for v in given]
            numbers = array_ops.stack([v.nrows(dtype) if isinstance(v, RaggedTensor) else partitions.length_of(v, dtype) for v in rows])
            joined = concat(rows) if rank else array_ops.concat(rows, axis=0)
            return RaggedTensor._of(joined, partitions.splits_from_lengths(numbers))
        return stacked_rows(given, rank, dtype)


def rows_of_rank(value: Tensor | RaggedTensor, rank: int, dtype: DType) -> Tensor | RaggedTensor:
    """As a RaggedTensor of so many ragged dimensions; dense for none."""
    if rank == 0:
        return value
    value = ragged(value, dtype)
    if value.ragged_rank == rank:
        return value
    return value.with_values(rows_of_rank(value.values, rank - 1, dtype))


def stacked_rows(given: Sequence[Tensor | RaggedTensor], rank: int, dtype: DType) -> RaggedTensor:
    """Row i of each beside each other: all rows after each other, then those that belong together."""
    rows = [rows_of_rank(v, rank, dtype) for v in given]
    number, n = rows[0].nrows(dtype), len(rows)
    same = [checks.assert_equal(r.nrows(dtype), number, message="Input tensors have incompatible shapes.") for r in rows[1:]]
    joined, number = concat(rows), partitions.checked(number, same, True)
    order = array_ops.reshape(array_ops.transpose(array_ops.reshape(math_ops.range_(number * n), [n, -1])), [-1])
    return RaggedTensor._of(indexing.gather(joined, order), math_ops.range_(number + 1) * n)


def stack_dynamic_partitions(data: TensorLike | RaggedTensor, partitions: TensorLike, num_partitions: IntLike,
                             name: str | None = None) -> RaggedTensor:
    """Rows of what belongs together: row i holds what `partitions` gives the number i.

    Parameters
    ----------
    data : Tensor or RaggedTensor
    partitions : int tensor
        Of the first dimensions of `data`.
    num_partitions : int scalar
    name : str, optional

    Returns
    -------
    RaggedTensor

    Examples
    --------
    >>> rows = tw.ragged.stack_dynamic_partitions(["a", "b", "c", "d", "e"], [3, 0, 2, 2, 3], 5)
    >>> with tw.Session() as sess:
    ...     print(sess.run(rows).to_list())
    [[b'b'], [], [b'c', b'd'], [b'a', b'e'], []]
    """
    with name_scope(name, "SegmentStack", [data, partitions, num_partitions]):
        data, numbers = ragged_or_tensor(data), ragged_or_tensor(partitions)
        if isinstance(numbers, RaggedTensor):
            dtype = numbers.row_splits.dtype.base_dtype
            data = ragged(data, dtype)
            same = checks.assert_equal(data.row_splits, numbers.row_splits, message="data and partitions have incompatible ragged shapes")
            flat = checks.with_dependencies([same], math_ops.cast(numbers.flat_values, dtype))
            return stack_dynamic_partitions(data.values, numbers.with_flat_values(flat).values, num_partitions)
        rank = numbers.shape.ndims
        if rank is None:
            raise ValueError("partitions must have known rank")
        numbers.shape.assert_is_compatible_with(data.shape[:rank])
        if rank == 0:
            return stack_dynamic_partitions(array_ops.stack([data]) if isinstance(data, Tensor) else stack([data]),
                                            array_ops.reshape(numbers, [1]), num_partitions)
        if rank > 1:
            sizes = array_ops.shape(data)
            data = array_ops.reshape(data, array_ops.concat([[-1], sizes[rank:]], axis=0))
            numbers = array_ops.reshape(numbers, [-1])
        if isinstance(data, RaggedTensor):
            numbers = math_ops.cast(numbers, data.row_splits.dtype.base_dtype)
        order = sorting.argsort(numbers, stable=True)
        return RaggedTensor.from_value_rowids(indexing.gather(data, order), array_ops.gather(numbers, order),
                                              math_ops.cast(num_partitions, numbers.dtype))
