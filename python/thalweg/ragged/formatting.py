# SPDX-License-Identifier: Apache-2.0
"""RaggedTensors as text, as Python writes nested lists."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.ops import apply
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops, math_ops
from thalweg.ragged import functions, partitions
from thalweg.ragged.ragged_tensor import RaggedTensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def string_format(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Tensor:
    """A template with the values of tensors in the places of its placeholders."""
    pieces = attrs["template"].split(attrs["placeholder"])
    texts = [pieces[0]]
    for value, piece in zip(inputs[0], pieces[1:]):
        if isinstance(value, RaggedTensor):
            texts.append(_text(value, attrs["summarize"]))
        else:
            texts.append(apply(op, [[value]], {**attrs, "template": attrs["placeholder"]}))
        texts.append(piece)
    return apply("StringJoin", [texts])


def _text(rows, summarize):
    dtype = rows.row_splits.dtype.base_dtype
    if rows.flat_values.shape.ndims is not None:
        rows = functions.rows_of_rank(rows, rows.shape.ndims - 1, dtype)
    flat = array_ops.reshape(rows.flat_values, [-1])
    texts = apply("StringJoin", [["'", flat, "'"]]) if flat.dtype.base_dtype is dtypes.string else apply("AsString", [flat])
    for splits in reversed(rows.nested_row_splits):
        texts = _joined(texts, splits, summarize)
    whole = array_ops.stack([rows.nrows() * 0, rows.nrows()])
    return _joined(texts, whole, summarize)[0]


def _joined(texts, splits, summarize):
    """The text of each row, of its first and last ones where it is long."""
    row = partitions.rowids_from_splits(splits)
    if summarize >= 0:
        lengths = array_ops.gather(partitions.lengths_from_splits(splits), row)
        place = partitions.places_in_rows(splits, row)
        left_out = apply("LogicalAnd", [place >= summarize, place < lengths - summarize])
        first_left_out = apply("LogicalAnd", [left_out, math_ops.equal(place, summarize)])
        texts = array_ops.where(first_left_out, array_ops.fill(array_ops.shape(texts), "..."), texts)
        kept = array_ops.reshape(array_ops.where(apply("LogicalOr", [apply("LogicalNot", [left_out]), first_left_out])), [-1])
        texts, row = array_ops.gather(texts, kept), array_ops.gather(row, kept)
    number = partitions.length_of(splits, splits.dtype.base_dtype) - 1
    return apply("StringJoin", [["[", apply("UnsortedSegmentJoin", [texts, row, number], {"separator": ", "}), "]"]])
