# SPDX-License-Identifier: Apache-2.0
"""Sums, means and the like of RaggedTensors along their dimensions, and of the rows of segments."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.graph.tensor_util import constant_value
from thalweg.operations import array_ops, checks, math_ops
from thalweg.ragged import dimensions, partitions
from thalweg.ragged.ragged_tensor import RaggedTensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_SEGMENTS = {"Sum": "UnsortedSegmentSum", "Max": "UnsortedSegmentMax", "Min": "UnsortedSegmentMin", "Prod": "UnsortedSegmentProd",
             "ReduceJoin": "UnsortedSegmentJoin"}


def _axes(rows, axis):
    """The dimensions that go, in order; None for all of a rank that is not known."""
    if axis is None:
        return None
    known = constant_value(convert_to_tensor(axis)) if isinstance(axis, Tensor) else axis
    if known is None:
        raise ValueError("axis must be known at graph construction time.")
    given = np.ravel(known).tolist() if not isinstance(known, (list, tuple)) else known
    places = []
    for one in given:
        if not isinstance(one, (int, np.integer)):
            raise TypeError(f"axis must be an int; got {type(one).__name__}")
        places.append(dimensions.place(one, rows.shape.ndims))
    return sorted(places)


def reduce(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Tensor | RaggedTensor:
    """What the reduction `op` gives along dimensions."""
    rows, axes = inputs[0], _axes(*inputs)
    if axes == []:
        return rows
    made = _reduced(op, rows, axes, {key: value for key, value in attrs.items() if key == "separator"})
    if attrs.get("keep_dims") and axes is None:
        raise ValueError("keepdims of all dimensions needs a known rank")
    for axis in axes if attrs.get("keep_dims") else ():
        made = array_ops.expand_dims(made, axis)
    return made


def _reduced(op, rows, axes, attrs):
    if op == "Mean":
        total, ones = _reduced("Sum", rows, axes, attrs), array_ops.ones_like(rows.flat_values)
        number = _reduced("Sum", rows.with_flat_values(ones), axes, attrs)
        if isinstance(total, Tensor):
            return math_ops.truediv(total, number)
        return total.with_flat_values(math_ops.truediv(total.flat_values, number.flat_values))
    if op in ("All", "Any"):
        numbers = rows.with_flat_values(math_ops.cast(math_ops.cast(rows.flat_values, dtypes.bool), dtypes.int32))
        return apply("Greater", [_reduced("Min" if op == "All" else "Max", numbers, axes, attrs), 0])  # of none, the type's end
    if axes is None or axes == list(range(rows.shape.ndims or 0)):
        return apply(op, [array_ops.reshape(rows.flat_values, [-1]), 0], attrs)
    made = rows
    for axis in reversed(axes):
        made = _along(op, made, axis, attrs)
    return made


def _along(op, value, axis, attrs):
    if isinstance(value, Tensor):
        return apply(op, [value, axis], attrs)
    if axis > 1:
        return value.with_values(_along(op, value.values, axis - 1, attrs))
    lengths, rowids = value.row_lengths(), value.value_rowids()
    if axis == 1:
        return _of_segments(_SEGMENTS[op], value.values, rowids, value.nrows(), attrs)
    places = partitions.places_in_rows(value.row_splits, rowids)
    return _of_segments(_SEGMENTS[op], value.values, places, _longest(lengths), attrs)


def _longest(lengths):
    return math_ops.reduce_max(array_ops.concat([array_ops.zeros([1], lengths.dtype.base_dtype), lengths], axis=0))


def _of_segments(op, values, ids, number, attrs):
    """Of rows, value by value: the row of a segment is as long as the longest of its rows."""
    if isinstance(values, Tensor):
        return apply(op, [values, ids, number], attrs)
    dtype = values.row_splits.dtype.base_dtype
    ids, number = math_ops.cast(ids, dtype), math_ops.cast(number, dtype)
    lengths = apply("Maximum", [apply("UnsortedSegmentMax", [values.row_lengths(), ids, number]), 0])
    splits, rowids = partitions.splits_from_lengths(lengths), values.value_rowids()
    places = partitions.places_in_rows(values.row_splits, rowids)
    inner = array_ops.gather(array_ops.gather(splits, ids), rowids) + places
    return RaggedTensor._of(_of_segments(op, values.values, inner, splits[-1], attrs), splits)


def segments(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Tensor | RaggedTensor:
    """UnsortedSegmentSum and the like of rows, or of all that a ragged tensor of numbers of segments has beside it."""
    data, ids, number = inputs
    while isinstance(ids, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            raise ValueError("segment_ids may be ragged where data is")
        same = checks.assert_equal(data.row_splits, ids.row_splits, message="segment_ids.shape must be a prefix of data.shape")
        data, ids = data.values, partitions.checked(ids.values, [same], True) if isinstance(ids.values, Tensor) else ids.values
    ids = convert_to_tensor(ids, name="segment_ids")
    if isinstance(data, RaggedTensor) and ids.shape.ndims != 1:
        raise ValueError(f"segment_ids of rows must be a vector, got shape {ids.shape}")
    return _of_segments(op, data, ids, convert_to_tensor(number), attrs)


def cumsum(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> RaggedTensor:
    """Sums of what came before along a dimension."""
    rows, axis = inputs
    sums = apply(op, [rows.to_tensor(), dimensions.place(axis, rows.shape.ndims)], attrs)
    return RaggedTensor.from_tensor(sums, list(rows.nested_row_lengths()), ragged_rank=rows.ragged_rank)


def softmax(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> RaggedTensor:
    """Each row of the last dimension as shares of a whole."""
    [logits] = inputs
    if logits.shape.ndims != logits.ragged_rank + 1:
        return logits.with_flat_values(apply(op, [logits.flat_values]))
    values, splits = logits.flat_values, logits.nested_row_splits[-1]
    ids, number = partitions.rowids_from_splits(splits), partitions.length_of(splits, splits.dtype.base_dtype) - 1
    largest = array_ops.stop_gradient(apply("UnsortedSegmentMax", [values, ids, number]))
    shares = apply("Exp", [values - array_ops.gather(largest, ids)])
    return logits.with_flat_values(shares / array_ops.gather(apply("UnsortedSegmentSum", [shares, ids, number]), ids))
