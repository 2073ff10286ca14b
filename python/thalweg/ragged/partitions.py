# SPDX-License-Identifier: Apache-2.0
"""How rows of different lengths lie in their values: by splits, lengths, starts, limits, or the row of each value; one from another."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_layout, array_ops, checks, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import DTypeLike, IntLike, TensorLike
    from thalweg.dtypes import DType

_TYPES = (dtypes.int32, dtypes.int64)


def splits_dtype(dtype: DTypeLike) -> DType:
    """A type that row splits may be of; ValueError for another one."""
    found = dtypes.as_dtype(dtype)
    if found not in _TYPES:
        raise ValueError(f"row_splits_dtype must be int32 or int64, got {found!r}")
    return found


def as_partition(value: TensorLike, name: str, beside: DType | None = None) -> Tensor:
    """A vector of int32 or int64 numbers. What is no tensor is of the type of the splits `beside` it, or else of its own; int64 where
    it has none."""
    dtype = None
    if not isinstance(value, Tensor):
        dtype = beside if beside is not None else None if hasattr(value, "dtype") else dtypes.int64
    if dtype is not None and np.asarray(value).dtype.kind == "f" and np.size(value):
        raise ValueError(f"{name} must have dtype int32 or int64")
    tensor = convert_to_tensor(value, dtype, name=name)
    if tensor.dtype.base_dtype not in _TYPES:
        raise ValueError(f"{name} must have dtype int32 or int64")
    tensor.shape.assert_has_rank(1)
    return tensor


def splits_and_values(made: Sequence[object]) -> tuple[list[Tensor], Tensor]:
    """The row splits and the values that an operation gives."""
    *splits, values = made if isinstance(made, (tuple, list)) else (made,)
    return [one for part in splits for one in (part if isinstance(part, (tuple, list)) else (part,))], values


def length_of(values: Tensor, dtype: DType) -> Tensor:
    """How many rows a tensor has."""
    return array_ops.shape(values, out_type=dtype)[0]


def splits_from_lengths(lengths: Tensor) -> Tensor:
    """[3, 0, 2] is [0, 3, 3, 5]."""
    return array_ops.concat([array_ops.zeros([1], lengths.dtype.base_dtype), math_ops.cumsum(lengths)], axis=0)


def splits_from_rowids(rowids: Tensor, nrows: TensorLike) -> Tensor:
    """[0, 0, 0, 2, 2] of three rows is [0, 3, 3, 5]; the ids must not go down."""
    rows = math_ops.range_(math_ops.cast(nrows, rowids.dtype) + 1)
    if rowids.dtype.base_dtype is dtypes.int32:
        return array_layout.searchsorted(rowids, rows, out_type=dtypes.int32)
    return array_layout.searchsorted(rowids, rows, out_type=dtypes.int64)


def lengths_from_splits(splits: Tensor) -> Tensor:
    """[0, 3, 3, 5] is [3, 0, 2]."""
    return splits[1:] - splits[:-1]


def rowids_from_splits(splits: Tensor) -> Tensor:
    """[0, 3, 3, 5] is [0, 0, 0, 2, 2]."""
    numbers = math_ops.range_(splits[-1])
    found = array_layout.searchsorted(splits, numbers, side="right", out_type=splits.dtype.base_dtype)
    return found - 1


def places_in_rows(splits: Tensor, rowids: Tensor) -> Tensor:
    """[0, 3, 3, 5], whose rows are [0, 0, 0, 2, 2], is [0, 1, 2, 0, 1]."""
    return math_ops.range_(splits[-1]) - array_ops.gather(splits, rowids)


def checked(partition: Tensor, conditions: list[object], validate: bool) -> Tensor:
    """The partition, once the conditions hold."""
    return checks.with_dependencies(conditions, partition) if validate and conditions else partition


def conditions_of_splits(splits: Tensor, nvals: Tensor, what: str) -> list[object]:
    """That they begin with 0, do not go down, and end with the number of the values."""
    message = f"Arguments to {what} do not form a valid RaggedTensor"
    zero = array_ops.zeros([], splits.dtype.base_dtype)
    return [checks.assert_equal(splits[0], zero, message=message),
            checks.assert_non_negative(lengths_from_splits(splits), message=message),
            checks.assert_equal(splits[-1], nvals, message=message)]


def conditions_of_rowids(rowids: Tensor, nrows: Tensor, nvals: Tensor, what: str) -> list[object]:
    """That there is one for each value, they do not go down, and each is that of a row."""
    message = f"Arguments to {what} do not form a valid RaggedTensor"
    return [checks.assert_equal(length_of(rowids, nvals.dtype), nvals, message=message),
            checks.assert_non_negative(rowids[:1], message=message),
            checks.assert_non_negative(rowids[1:] - rowids[:-1], message=message),
            checks.assert_less(rowids[-1:], nrows, message=message)]


def row_splits_to_segment_ids(splits: TensorLike, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
    """The row of each value.

    Parameters
    ----------
    splits : int vector
        Where rows begin, and the last one ends.
    name : str, optional
    out_type : DType, optional
        int32 or int64; that of `splits` without it.

    Returns
    -------
    Tensor
        As long as the last split says.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.ragged.row_splits_to_segment_ids([0, 3, 3, 5])))
    [0 0 0 2 2]
    """
    splits = as_partition(splits, "splits")
    if splits.shape._size(0) == 0:
        raise ValueError("Invalid row_splits: []")
    ids = rowids_from_splits(splits)
    return ids if out_type is None else math_ops.cast(ids, splits_dtype(out_type))


def segment_ids_to_row_splits(segment_ids: TensorLike, num_segments: IntLike | None = None, out_type: DTypeLike | None = None,
                              name: str | None = None) -> Tensor:
    """Where rows begin, and the last one ends, of the row of each value.

    Parameters
    ----------
    segment_ids : int vector
        They must not go down.
    num_segments : int, optional
        How many rows there are; up to the last one that has a value without it.
    out_type : DType, optional
        int32 or int64; that of `segment_ids` without it.
    name : str, optional

    Returns
    -------
    Tensor
        One longer than there are rows.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2])))
    [0 3 3 5]
    """
    ids = as_partition(segment_ids, "segment_ids")
    nrows = next_row(ids) if num_segments is None else convert_to_tensor(num_segments, ids.dtype.base_dtype)
    own = ids.dtype.base_dtype if isinstance(segment_ids, Tensor) else dtypes.int64
    return math_ops.cast(splits_from_rowids(ids, nrows), splits_dtype(out_type or own))


def next_row(rowids: Tensor) -> Tensor:
    """The number of rows up to the last one with a value."""
    return math_ops.reduce_max(array_ops.concat([array_ops.zeros([1], rowids.dtype.base_dtype), rowids[-1:] + 1], axis=0))
