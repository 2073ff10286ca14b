# SPDX-License-Identifier: Apache-2.0
"""Dimensions of RaggedTensors that come, go, are turned, repeated, joined and cut."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.graph.tensor_util import constant_value
from thalweg.operations import array_ops, checks, math_ops
from thalweg.ragged import broadcasting, flat_values, functions, partitions
from thalweg.ragged.ragged_tensor import RaggedTensor, ragged_or_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def place(axis: int, rank: int | None) -> int:
    """The number of a dimension, also where it is counted from the last one."""
    if isinstance(axis, Tensor):
        known = constant_value(axis)
        if known is None:
            raise ValueError("axis must be known at graph construction time.")
        axis = int(known)
    if not isinstance(axis, (int, np.integer)):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if rank is None:
        if axis < 0:
            raise ValueError("axis may only be negative if rank is statically known.")
        return int(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
    return int(axis) % rank


def expand_dims(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> RaggedTensor:
    """One more dimension, of size 1."""
    rows, axis = inputs
    return _expanded(rows, place(axis, None if rows.shape.ndims is None else rows.shape.ndims + 1))


def _expanded(rows, axis):
    if isinstance(rows, Tensor):
        return array_ops.expand_dims(rows, axis)
    if axis == 0:
        return RaggedTensor._of(rows, array_ops.stack([rows.nrows() * 0, rows.nrows()]))
    if axis == 1:
        return RaggedTensor._of(rows, math_ops.range_(rows.nrows() + 1), 1)
    return rows.with_values(_expanded(rows.values, axis - 1))


def squeeze(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Tensor | RaggedTensor:
    """Without dimensions of size 1."""
    [rows] = inputs
    if not attrs.get("squeeze_dims"):
        raise ValueError("Ragged.squeeze must have an axis argument.")
    for axis in sorted({place(axis, rows.shape.ndims) for axis in attrs["squeeze_dims"]}, reverse=True):
        rows = _squeezed(rows, axis, axis)
    return rows


def _squeezed(rows, axis, named):
    if isinstance(rows, Tensor):
        return array_ops.squeeze(rows, [axis])
    if axis > 1:
        return rows.with_values(_squeezed(rows.values, axis - 1, named))
    lengths = rows.nrows() if axis == 0 else rows.row_lengths()
    one = checks.assert_equal(lengths, array_ops.ones_like(lengths), message=f"the given axis (axis = {named}) is not squeezable!")
    if isinstance(rows.values, Tensor):
        return checks.with_dependencies([one], rows.values)
    return rows.values.with_flat_values(checks.with_dependencies([one], rows.flat_values))


def tile(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> RaggedTensor:
    """Repeated along each dimension."""
    rows, multiples = inputs
    dtype = rows.row_splits.dtype.base_dtype
    multiples = math_ops.cast(convert_to_tensor(multiples), dtype)
    multiples.shape.assert_is_compatible_with([rows.shape.ndims])
    number = rows.nrows()
    repeated = math_ops.range_(number * multiples[0])
    chosen = repeated % apply("Maximum", [number, 1])
    nested, flat = [], rows.flat_values
    for i, splits in enumerate(rows.nested_row_splits):
        lengths = array_ops.gather(partitions.lengths_from_splits(splits), chosen)
        made = partitions.splits_from_lengths(lengths * multiples[i + 1])
        row = partitions.rowids_from_splits(made)
        within = partitions.places_in_rows(made, row)
        chosen = array_ops.gather(array_ops.gather(splits[:-1], chosen), row) + within % array_ops.gather(lengths, row)
        nested.append(made)
    flat = array_ops.gather(flat, chosen)
    if flat.shape.ndims != 1:
        inner = multiples[rows.ragged_rank + 1:]
        flat = array_ops.tile(flat, array_ops.concat([array_ops.ones([1], dtype), inner], axis=0))
    return RaggedTensor.from_nested_row_splits(flat, nested, validate=False)


def reverse(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> RaggedTensor:
    """The other way round along dimensions."""
    rows, axes = inputs
    known = constant_value(convert_to_tensor(axes))
    if known is None:
        raise ValueError("axis must be known at graph construction time.")
    for axis in np.ravel(known).tolist():
        rows = rows[(*[slice(None)] * place(axis, rows.shape.ndims), slice(None, None, -1))]
    return rows


def reshape(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Tensor:
    """All values after each other; other shapes are not those of rows."""
    rows, shape = inputs
    known = constant_value(convert_to_tensor(shape))
    if known is None or list(known) != [-1]:
        raise TypeError("a RaggedTensor is reshaped to [-1] only; use to_tensor() for a tensor of its own")
    return array_ops.reshape(rows.flat_values, [-1])


def split(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[RaggedTensor]:
    """Cut along a dimension that is not ragged: in equal parts, or by their sizes."""
    value, axis = inputs[::-1][:2] if op == "Split" else inputs[::2]
    axis, count = place(axis, value.shape.ndims), attrs["num_split"]
    if 0 < axis <= value.ragged_rank:
        raise ValueError(f"Cannot split a ragged dimension. Got `value` with shape {value.shape} and `axis` {axis}.")
    if axis:
        inner = [count, axis - value.ragged_rank] if op == "Split" else [inputs[1], axis - value.ragged_rank]
        return [value.with_flat_values(part) for part in array_ops.split(value.flat_values, *inner)]
    if op == "Split":
        each = value.nrows() // count
        whole = checks.assert_equal(each * count, value.nrows(), message="num_split must divide the number of rows")
        ends = math_ops.range_(count + 1, dtype=each.dtype.base_dtype) * checks.with_dependencies([whole], each)
    else:
        sizes = math_ops.cast(convert_to_tensor(inputs[1]), value.row_splits.dtype.base_dtype)
        whole = checks.assert_equal(math_ops.reduce_sum(sizes), value.nrows(), message="sizes must add up to the number of rows")
        ends = partitions.splits_from_lengths(checks.with_dependencies([whole], sizes))
    return [value[ends[i]:ends[i + 1]] for i in range(count)]


def concat(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> RaggedTensor:
    """Joined along a dimension that all have."""
    values, axis = [ragged_or_tensor(v) for v in inputs[0]], inputs[1]
    if not isinstance(axis, (int, np.integer)):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    rank = next((v.shape.ndims for v in values if v.shape.ndims is not None), None)
    for value in values:
        value.shape.assert_has_rank(rank)
    return _joined(values, place(axis, rank), broadcasting.splits_dtype([v for v in values if isinstance(v, RaggedTensor)]))


def _joined(values, axis, dtype):
    if all(isinstance(v, Tensor) for v in values):
        return array_ops.concat(values, axis)
    rank = max(v.ragged_rank for v in values if isinstance(v, RaggedTensor))
    if axis == 0:
        return functions.concat([functions.rows_of_rank(v, rank, dtype) for v in values])
    if axis == 1:
        rows = functions.stacked_rows(values, rank, dtype)  # row i of each as a row of rows
        return RaggedTensor._of(rows.values.values, array_ops.gather(rows.values.row_splits, rows.row_splits))
    rows = [functions.ragged(v, dtype) for v in values]
    splits = partitions.checked(rows[0].row_splits, flat_values.same_outer_rows(rows), True)
    return RaggedTensor._of(_joined([r.values for r in rows], axis - 1, dtype), splits)


def pack(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> RaggedTensor:
    """Put together along a new dimension."""
    values = [ragged_or_tensor(v) for v in inputs[0]]
    broadcasting.splits_dtype([v for v in values if isinstance(v, RaggedTensor)])
    rank = values[0].shape.ndims
    for value in values:
        value.shape.assert_has_rank(rank)
    return functions.stack(values, attrs["axis"])


def one_hot(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> RaggedTensor:
    """One value where an index says, another elsewhere, in a new dimension behind the ragged ones."""
    rows, axis = inputs[0], attrs["axis"]
    if 0 <= axis <= rows.ragged_rank:
        raise ValueError(f"axis ({axis}) must be greater than indices.ragged_rank ({rows.ragged_rank}).")
    inner = axis if axis < 0 else axis - rows.ragged_rank
    return rows.with_flat_values(apply(op, [rows.flat_values, *inputs[1:]], {**attrs, "axis": inner}))
