# SPDX-License-Identifier: Apache-2.0
"""Parts of a RaggedTensor by rows[2, 1:3], and the rows of a dense tensor."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_layout, array_ops, math_ops
from thalweg.ragged import partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.dtypes import DType
    from thalweg.ragged.ragged_tensor import RaggedTensor


def _least(a, b):
    return apply("Minimum", [a, b])


def _most(a, b):
    return apply("Maximum", [a, b])


def _expanded(keys, ndims):
    """With slices in place of an ellipsis."""
    at = [i for i, key in enumerate(keys) if key is Ellipsis]
    if not at:
        return keys
    if len(at) > 1:
        raise ValueError("Only one ellipsis is allowed.")
    if ndims is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    named = sum(1 for key in keys if key is not Ellipsis and key is not None)
    if named > ndims:
        raise IndexError("Too many indices for a RaggedTensor")
    return [*keys[:at[0]], *[slice(None)] * (ndims - named), *keys[at[0] + 1:]]


def _is_whole(key):
    return isinstance(key, slice) and key.start is None and key.stop is None and key.step is None


def getitem(rows: RaggedTensor, key: object) -> Tensor | RaggedTensor:
    """Row by number, slices of rows, and slices of what is in each."""
    keys = _expanded(list(key) if isinstance(key, (list, tuple)) else [key], rows.shape.ndims)
    if not keys:
        return rows
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = getitem(rows, rest)
        number = inner.nrows() if not isinstance(inner, Tensor) else partitions.length_of(inner, rows.row_splits.dtype)
        return type(rows)._of(inner, array_ops.stack([array_ops.zeros_like(number), number]))
    if isinstance(first, slice):
        return _inside(rows if _is_whole(first) else _rows_of_slice(rows, first), rest)
    begin, end = rows.row_splits[:-1][first], rows.row_splits[1:][first]
    row = rows.values[begin:end]
    return row[tuple(rest)] if rest else row


def _rows_of_slice(rows, key):
    number = rows.nrows()
    return gather(rows, math_ops.range_(number)[key])


def _inside(rows, keys):
    """The keys behind the one of the rows themselves."""
    if not keys:
        return rows
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _inside(rows, rest)
        return type(rows)._of(inner, math_ops.range_(rows.nrows() + 1), 1)
    if not isinstance(first, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    if not _is_whole(first):
        rows = _columns(rows, first)
    return rows.with_values(rows.values[(slice(None), *rest)]) if rest else rows


def _columns(rows, key):
    """The same slice of each row."""
    dtype = rows.row_splits.dtype.base_dtype
    begins, lengths = rows.row_starts(), rows.row_lengths()
    step = 1 if key.step is None else key.step
    if not isinstance(step, Tensor) and step == 0:
        raise ValueError("slice step cannot be zero")
    if isinstance(step, Tensor):
        raise ValueError("slices of inner ragged dimensions take steps that are numbers")

    def place(value, otherwise, low, high):
        if value is None:
            return otherwise
        value = math_ops.cast(convert_to_tensor(value, dtype if not isinstance(value, Tensor) else None), dtype)
        value = array_ops.where(value + lengths * 0 < 0, value + lengths, value + lengths * 0)
        return _least(_most(value, low), high)
    zeros = array_ops.zeros_like(lengths)
    if step > 0:
        start, stop = place(key.start, zeros, zeros, lengths), place(key.stop, lengths, zeros, lengths)
    else:
        start, stop = place(key.start, lengths - 1, zeros - 1, lengths - 1), place(key.stop, zeros - 1, zeros - 1, lengths - 1)
    splits, places = apply("RaggedRange", [begins + start, begins + stop, convert_to_tensor(step, dtype)], {"Tsplits": dtype})
    return type(rows)._of(gather(rows.values, places), splits)


def gather(params: Tensor | RaggedTensor, indices: Tensor) -> Tensor | RaggedTensor:
    """The rows at `indices`, of one dimension or more."""
    if isinstance(params, Tensor):
        return array_ops.gather(params, indices)
    rank = params.ragged_rank
    made = apply("RaggedGather", [list(params.nested_row_splits), params.flat_values, indices],
                 {"OUTPUT_RAGGED_RANK": rank + indices.shape.ndims - 1})
    splits, flat = partitions.splits_and_values(made)
    static = params.flat_values.shape
    if static.ndims is not None:
        flat.set_shape([None, *static.as_list()[1:]])
    return type(params).from_nested_row_splits(flat, splits, validate=False)


class Rows:
    """The rows of dense tensors: all of them, or up to their lengths or their padding."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def kept(self, tensor: Tensor, nested: Sequence[TensorLike]) -> Tensor:
        """The values that count where each of several dimensions has lengths."""
        for lengths in nested:
            tensor = self.rows(tensor, lengths, None)[0]
        return tensor

    def rows(self, tensor: Tensor, lengths: TensorLike | None, padding: TensorLike | None) -> tuple[Tensor, Tensor]:
        """The values and the row splits of a tensor of rank 2 or above."""
        sizes = array_ops.shape(tensor, out_type=self.dtype)
        if padding is not None:
            lengths = self._unpadded(tensor, convert_to_tensor(padding, tensor.dtype.base_dtype, name="padding"))
        if lengths is not None:
            lengths = math_ops.cast(partitions.as_partition(lengths, "lengths"), self.dtype)
            lengths = _least(_most(lengths, 0), sizes[1])
            kept = array_layout.sequence_mask(lengths, math_ops.cast(sizes[1], lengths.dtype))
            return array_ops.boolean_mask(tensor, kept), partitions.splits_from_lengths(lengths)
        flat = array_ops.reshape(tensor, array_ops.concat([[-1], sizes[2:]], axis=0))
        static = tensor.shape
        if static.ndims is not None:
            outer = static._size(0) * static._size(1) if static[:2].is_fully_defined() else None
            flat.set_shape([outer, *static.as_list()[2:]])
        splits = math_ops.range_(sizes[0] + 1) * sizes[1]
        if static.ndims is not None and static._size(0) is not None:
            splits.set_shape([static._size(0) + 1])
        return flat, splits

    def _unpadded(self, tensor, padding):
        """How long rows are without the padding at their end."""
        if padding.shape.ndims == 0:
            differs = math_ops.not_equal(tensor, padding)
        else:
            differs = math_ops.not_equal(tensor, padding[None, None])
        rank = tensor.shape.ndims
        if rank is None or rank > 2:
            differs = math_ops.reduce_any(array_ops.reshape(differs, array_ops.concat([array_ops.shape(tensor)[:2], [-1]], axis=0)), axis=2)
        places = math_ops.range_(array_ops.shape(tensor, out_type=self.dtype)[1]) + 1
        return math_ops.reduce_max(array_ops.concat([array_ops.zeros_like(math_ops.cast(differs[:, :1], self.dtype)),
                                                     math_ops.cast(differs, self.dtype) * places], axis=1), axis=1)
