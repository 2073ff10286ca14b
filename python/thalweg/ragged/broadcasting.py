# SPDX-License-Identifier: Apache-2.0
"""Tensors of several shapes, one of them ragged at least, as innermost values of the same rows: each dimension of size 1 is repeated.

A dimension is of one size (a row of rows is then as long as every other) or ragged; a ragged one is never repeated. From the outermost
dimension inwards it is found out which of an operand's values each of the result's is: a vector of places, None where all stay.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.graph.ops import constant, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.graph.tensor_util import constant_value
from thalweg.operations import array_ops, checks, math_ops
from thalweg.ragged import flat_values, partitions
from thalweg.ragged.ragged_tensor import RaggedTensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.dtypes import DType

_DIFFERENT = "Unable to broadcast: dimension size mismatch"


class _Size:
    """How long every row of a dimension is."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        known = constant_value(tensor)
        self.known = None if known is None else int(known)

    def is_one(self) -> Tensor:
        return math_ops.equal(self.tensor, 1)


class _Operand:
    """Its dimensions that the result's rows lie in, as sizes and row splits, and its values behind them."""

    def __init__(self, value: Tensor | RaggedTensor, rank: int, ragged_rank: int, dtype: DType) -> None:
        own = value.shape.ndims
        missing = rank - own
        one = _Size(convert_to_tensor(1, dtype))
        splits = value.nested_row_splits if isinstance(value, RaggedTensor) else ()
        self.values = value.flat_values if splits else value
        count = ragged_rank + 1 - missing  # of its own dimensions
        if count <= 0:
            self.dimensions = None  # it lies within the innermost values
            return
        outer = value.nrows(dtype) if splits else None
        inner = array_ops.shape(self.values, out_type=dtype)
        sizes = [_size_at(self.values, inner, i, dtype) for i in range(count - len(splits))]
        own_dimensions = [_known_size(value.shape._size(0), outer, dtype), *_ragged_dimensions(value, one), *sizes[1:]] if splits else sizes
        self.dimensions = [one] * missing + own_dimensions
        if len(sizes) > 1:
            static = self.values.shape.as_list()[len(sizes):]
            self.values = array_ops.reshape(self.values, array_ops.concat([[-1], inner[len(sizes):]], axis=0))
            self.values.set_shape([None, *static])
        self.places = None


def _ragged_dimensions(value, one):
    """Their row splits, or the size of those that are of one row each."""
    while isinstance(value, RaggedTensor):
        yield one if value.uniform_row_length == 1 else value.row_splits
        value = value.values


def _known_size(known, tensor, dtype):
    return _Size(tensor if known is None else convert_to_tensor(known, dtype))


def _size_at(values, sizes, i, dtype):
    return _known_size(values.shape._size(i), sizes[i], dtype)


def _common_size(sizes, conditions):
    """The size that all have which is not 1."""
    found = sizes[0]
    for size in sizes[1:]:
        if found.known == size.known is not None or size.known == 1:
            continue
        if found.known == 1:
            found = size
            continue
        both = array_ops.where(found.is_one(), size.tensor, found.tensor)
        conditions += [checks.assert_equal(array_ops.where(s.is_one(), both, s.tensor), both, message=_DIFFERENT) for s in (found, size)]
        found = found if found.known is not None else size if size.known is not None else _Size(both)
    return found


class _Rows:
    """The rows of the result so far: how many there are, and of those of the last dimension the row that each lies in, and its place there."""

    def __init__(self, number: Tensor) -> None:
        self.number = number

    def go_in(self, splits: Tensor) -> None:
        self.number = splits[-1]
        self.row_of_value = partitions.rowids_from_splits(splits)
        self.place_in_row = partitions.places_in_rows(splits, self.row_of_value)

    def all_of(self, places: Tensor | None) -> Tensor:
        return math_ops.range_(self.number) if places is None else places


def _spread_outermost(operands, rows, common):
    """Places of rows in operands that have one only."""
    for operand in operands:
        size = operand.dimensions[0]
        if size.known == 1 and common.known != 1:
            operand.places = array_ops.fill(array_ops.reshape(rows.number, [1]), rows.number * 0)
        elif size.known is None and size is not common:
            operand.places = math_ops.range_(rows.number) * math_ops.cast(math_ops.not_equal(size.tensor, 1), rows.number.dtype)


def _own_splits(splits, places):
    """Row splits of the chosen rows."""
    if places is None:
        return splits
    return partitions.splits_from_lengths(array_ops.gather(partitions.lengths_from_splits(splits), places))


def _splits_at(operands, i, rows, conditions):
    """The row splits of the result in a dimension."""
    ragged = [o for o in operands if isinstance(o.dimensions[i], Tensor)]
    sizes = [o.dimensions[i] for o in operands if isinstance(o.dimensions[i], _Size)]
    if not ragged:
        return math_ops.range_(rows.number + 1) * _common_size(sizes, conditions).tensor
    first, *others = [_own_splits(o.dimensions[i], o.places) for o in ragged]
    conditions += [checks.assert_equal(first, other, message=_DIFFERENT) for other in others if other is not first]
    known = constant_value(first)
    lengths = partitions.lengths_from_splits(first) if known is None else constant(np.diff(known), first.dtype.base_dtype)
    for size in sizes:
        if size.known is None:
            differs = math_ops.cast(math_ops.not_equal(size.tensor, 1), lengths.dtype)
            conditions.append(checks.assert_equal(lengths * differs, size.tensor * differs, message=_DIFFERENT))
        elif size.known != 1:
            conditions.append(checks.assert_equal(lengths, size.tensor, message=_DIFFERENT))
    return first


def _go_in(operand, dimension, before, rows):
    """The places of the values of one more dimension; `before`: of the rows that they lie in."""
    places = operand.places
    if isinstance(dimension, Tensor):
        if places is not None:
            begins = array_ops.gather(dimension[:-1], places)
            operand.places = array_ops.gather(begins, rows.row_of_value) + rows.place_in_row
        return
    if dimension.known == 1:
        operand.places = rows.row_of_value if places is None else array_ops.gather(places, rows.row_of_value)
    elif dimension.known is None or places is not None:
        moves = rows.place_in_row
        if dimension.known is None:
            moves = moves * math_ops.cast(math_ops.not_equal(dimension.tensor, 1), moves.dtype)
        operand.places = array_ops.gather(before, rows.row_of_value) * dimension.tensor + moves


def splits_dtype(rows: Sequence[RaggedTensor]) -> DType:
    """The type of the row splits of all; ValueError where they differ."""
    found = {r.row_splits.dtype.base_dtype for r in rows}
    if len(found) > 1:
        raise ValueError("Input RaggedTensors have mismatched row_splits dtypes; use RaggedTensor.with_row_splits_dtype() to convert "
                         "them to compatible dtypes.")
    return found.pop()


def _flat(values):
    return [v.flat_values if isinstance(v, RaggedTensor) else v for v in values]


def _same_rows_of_any_rank(values, ragged):
    """Where a rank is known in the step only, rows are those of all and other tensors scalars."""
    if any(v.shape.ndims != 0 for v in values if isinstance(v, Tensor)):
        raise ValueError("Unable to broadcast: unknown rank")
    return flat_values.with_flat_values(ragged, ragged[0].flat_values), _flat(values)


def same_rows(values: Sequence[Tensor | RaggedTensor]) -> tuple[RaggedTensor, list[Tensor]]:
    """Rows as all have then, and the innermost values of each. Those that need no rows are as they were."""
    ragged = [v for v in values if isinstance(v, RaggedTensor)]
    dtype = splits_dtype(ragged)
    if any(v.shape.ndims is None for v in values):
        return _same_rows_of_any_rank(values, ragged)
    first = ragged[0].nested_row_splits
    rank = max(v.shape.ndims for v in values)
    ragged_rank = max(rank - r.shape.ndims + r.ragged_rank for r in ragged)
    alike = all(len(r.nested_row_splits) == len(first) and all(a is b for a, b in zip(first, r.nested_row_splits)) for r in ragged)
    if alike and all(isinstance(v, RaggedTensor) or v.shape.ndims < rank - ragged_rank for v in values):
        return ragged[0], _flat(values)
    operands = [_Operand(v, rank, ragged_rank, dtype) for v in values]
    ours = [o for o in operands if o.dimensions is not None]
    conditions: list[object] = []
    common = _common_size([o.dimensions[0] for o in ours], conditions)
    rows = _Rows(common.tensor)
    _spread_outermost(ours, rows, common)
    nested = []
    for i in range(1, ragged_rank + 1):
        before = {id(o): rows.all_of(o.places) for o in ours if isinstance(o.dimensions[i], _Size)}
        splits = _splits_at(ours, i, rows, conditions)
        rows.go_in(splits)
        nested.append(splits)
        for operand in ours:
            _go_in(operand, operand.dimensions[i], before.get(id(operand)), rows)
    for operand in ours:
        if conditions:
            operand.values = checks.with_dependencies(conditions, operand.values)
        if operand.places is not None:
            operand.values = array_ops.gather(operand.values, operand.places)
    values = [o.values for o in operands]
    return RaggedTensor.from_nested_row_splits(ours[0].values, nested, validate=False), values
