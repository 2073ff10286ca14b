# SPDX-License-Identifier: Apache-2.0
"""RaggedTensors of nested lists, of placeholders, of ranges."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant as dense_constant, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops
from thalweg.ragged import partitions
from thalweg.ragged.ragged_tensor import RaggedTensor
from thalweg.ragged.ragged_tensor_value import RaggedTensorValue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, ShapeLike, TensorLike


def _is_list(value):
    return isinstance(value, (list, tuple)) or isinstance(value, np.ndarray) and value.ndim > 0


def _depths(pylist):
    """(at which depth scalars are, or None; how deep the lists are)."""
    if not _is_list(pylist):
        return 0, 0
    scalar, deepest = None, 1
    for child in pylist:
        child_scalar, child_deepest = _depths(child)
        if child_scalar is not None:
            if scalar not in (None, child_scalar + 1):
                raise ValueError("all scalar values must have the same nesting depth")
            scalar = child_scalar + 1
        deepest = max(deepest, child_deepest + 1)
    return scalar, deepest


def _inner_shape(pylist, ragged_rank):
    """The shape of what the innermost ragged rows hold; ValueError where it is not one shape."""
    def shape(item):
        if not _is_list(item):
            return ()
        shapes = {shape(child) for child in item}
        if len(shapes) > 1:
            raise ValueError("inner values have inconsistent shape")
        return (len(item), *(next(iter(shapes)) if shapes else ()))

    def of_values(item, rank):
        if rank == 0:
            return [shape(child) for child in item] if _is_list(item) else []
        return [found for child in item for found in of_values(child, rank - 1)]
    found = set(of_values(pylist, ragged_rank))
    if len(found) > 1:
        raise ValueError("inner values have inconsistent shape")
    return next(iter(found)) if found else ()


def _array_dtype(pylist):
    """The type of the arrays among the lists."""
    if isinstance(pylist, (np.ndarray, np.generic)):
        return None if pylist.dtype.kind in "OUS" else pylist.dtype
    kinds = [_array_dtype(child) for child in pylist] if isinstance(pylist, (list, tuple)) else []
    return next((kind for kind in kinds if kind is not None), None)


def _constant(pylist, dtype, ragged_rank, inner_shape, dense, ragged):
    """`dense(values, dtype, shape, name)` and `ragged(values, splits)` make what is asked for."""
    if dtype is None:
        dtype = _array_dtype(pylist)
    if ragged_rank is not None and not isinstance(ragged_rank, int):
        raise TypeError(f"Expected an int for ragged_rank, got {ragged_rank!r}")
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
        if inner_shape:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}")
        return dense(pylist, dtype, (), None)
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank}: must be nonnegative")
    scalar_depth, max_depth = _depths(pylist)
    if scalar_depth is not None and max_depth > scalar_depth:
        raise ValueError(f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting")
    if ragged_rank is not None and scalar_depth is not None and scalar_depth <= ragged_rank:
        raise ValueError(f"pylist has scalar values depth {scalar_depth}, but ragged_rank={ragged_rank} requires scalar value depth "
                         f"greater than {ragged_rank}")
    if ragged_rank is not None and max_depth < ragged_rank:
        raise ValueError(f"Invalid pylist={pylist!r}, max depth smaller than ragged_rank={ragged_rank}")
    if inner_shape is None:
        ragged_rank = max(0, max_depth - 1) if ragged_rank is None else ragged_rank
        inner_shape = _inner_shape(pylist, ragged_rank)
    else:
        inner_shape = tuple(inner_shape) if isinstance(inner_shape, (list, tuple)) else (inner_shape,)
        depth = max_depth - 1 - len(inner_shape)
        if ragged_rank is None:
            ragged_rank = depth
        if depth < 0 or (scalar_depth is not None and depth != ragged_rank) or depth > ragged_rank:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and dim(inner_shape)={len(inner_shape)}")
    values, nested = pylist, []
    for _ in [None] * ragged_rank:
        nested.append([0])
        for row in values:
            nested[-1].append(nested[-1][-1] + len(row))
        values = [item for row in values for item in row]
    made = dense(values, dtype, (len(values), *inner_shape), "values" if nested else None)
    for splits in reversed(nested):
        made = ragged(made, splits)
    return made


def constant(pylist: Any, dtype: DTypeLike | None = None, ragged_rank: int | None = None, inner_shape: Sequence[int] | None = None,
             name: str | None = None, row_splits_dtype: DTypeLike = dtypes.int64) -> Tensor | RaggedTensor:
    """The RaggedTensor of nested lists; a Tensor where no dimension is ragged.

    Parameters
    ----------
    pylist : nested list
        All scalars at one depth.
    dtype : DType, optional
    ragged_rank : int, optional
        How many dimensions are ragged; all but the outermost without it, and those of `inner_shape`.
    inner_shape : tuple of int, optional
        Of what the innermost ragged rows hold.
    name : str, optional
    row_splits_dtype : DType

    Returns
    -------
    RaggedTensor or Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.ragged.constant([[1, 2], [], [3]])).to_list())
    [[1, 2], [], [3]]
    """
    splits_dtype = partitions.splits_dtype(row_splits_dtype)

    def dense(values, dtype, shape, name):
        return dense_constant(values, dtype, shape=shape, name=name or "Const")
    with name_scope(name, "RaggedConstant"):
        return _constant(pylist, dtype, ragged_rank, inner_shape, dense, lambda values, splits: RaggedTensor._of(
            values, dense_constant(splits, splits_dtype)))


def constant_value(pylist: Any, dtype: DTypeLike | None = None, ragged_rank: int | None = None,
                   inner_shape: Sequence[int] | None = None, row_splits_dtype: DTypeLike = "int64") -> Any:
    """The RaggedTensorValue of nested lists; an array where no dimension is ragged."""
    splits_dtype = partitions.splits_dtype(row_splits_dtype).as_numpy_dtype
    wanted = dtype.as_numpy_dtype if isinstance(dtype, dtypes.DType) else dtype

    def dense(values, kind, shape, _name):
        return np.reshape(np.array(values, dtype=kind), shape)
    return _constant(pylist, wanted, ragged_rank, inner_shape, dense, lambda values, splits: RaggedTensorValue(
        values, np.array(splits, dtype=splits_dtype)))


def placeholder(dtype: DTypeLike, ragged_rank: int, value_shape: ShapeLike = None, name: str | None = None) -> Tensor | RaggedTensor:
    """A RaggedTensor that is fed as a RaggedTensorValue.

    Parameters
    ----------
    dtype : DType
    ragged_rank : int
        How many of its dimensions are ragged; 0: it is a placeholder as any.
    value_shape : TensorShape, optional
        Of one of its innermost values.
    name : str, optional

    Returns
    -------
    RaggedTensor or Tensor

    Examples
    --------
    >>> rows = tw.ragged.placeholder(tw.float32, 1)
    >>> with tw.Session() as sess:
    ...     value = tw.ragged.constant_value([[1.0], [2.0, 3.0]], "float32")
    ...     print(sess.run(rows.row_lengths(), {rows: value}))
    [1 2]
    """
    if ragged_rank == 0:
        return array_ops.placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder"):
        shape = None if value_shape is None else [None, *value_shape]
        made = array_ops.placeholder(dtype, shape, "flat_values")
        for i in np.arange(ragged_rank)[::-1]:
            made = RaggedTensor._of(made, array_ops.placeholder(dtypes.int64, [None], f"row_splits_{i}"))
        return made


def range(starts: TensorLike, limits: TensorLike | None = None, deltas: TensorLike = 1, dtype: DTypeLike | None = None,
          name: str | None = None, row_splits_dtype: DTypeLike = dtypes.int64) -> RaggedTensor:
    """Rows of numbers: row i goes from starts[i] up to and without limits[i], in steps of deltas[i].

    Parameters
    ----------
    starts, limits, deltas : scalars or vectors
        With `starts` alone they are the limits, and rows begin with 0.
    dtype : DType, optional
    name : str, optional
    row_splits_dtype : DType

    Returns
    -------
    RaggedTensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.ragged.range([3, 5, 2])).to_list())
    [[0, 1, 2], [0, 1, 2, 3, 4], [0, 1]]
    """
    splits_dtype = partitions.splits_dtype(row_splits_dtype)
    if limits is None:
        starts, limits = 0, starts
    with name_scope(name, "RaggedRange", [starts, limits, deltas]):
        parts = [convert_to_tensor(part, dtype, name=what) for part, what in ((starts, "starts"), (limits, "limits"), (deltas, "deltas"))]
        if dtype is None:
            order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
            for part in parts:
                if part.dtype.base_dtype not in order:
                    raise TypeError(f"ragged.range takes int32, int64, float32 and float64, got {part.dtype!r}")
            wanted = max((part.dtype.base_dtype for part in parts), key=order.index)
            parts = [apply("Cast", [part], {"DstT": wanted}) if part.dtype.base_dtype != wanted else part for part in parts]
        splits, values = apply("RaggedRange", parts, {"Tsplits": splits_dtype})
        return RaggedTensor._of(values, splits)
