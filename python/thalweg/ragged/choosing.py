# SPDX-License-Identifier: Apache-2.0
"""What is chosen out of RaggedTensors: by numbers of rows, by whole indices, by conditions, by partitions."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.ops import apply
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops, checks, math_ops
from thalweg.ragged import dimensions, flat_values, functions, indexing, partitions
from thalweg.ragged.ragged_tensor import RaggedTensor, ragged_or_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def gather(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Tensor | RaggedTensor:
    """Rows by their numbers; with `batch_dims`, those of row i out of row i."""
    params, indices = ragged_or_tensor(inputs[0], name="params"), ragged_or_tensor(inputs[1], name="indices")
    batch = attrs.get("batch_dims") or 0
    rank = indices.shape.ndims
    batch += rank if batch < 0 and rank is not None else 0
    axis = dimensions.place(inputs[2], params.shape.ndims)
    if axis != batch:
        raise ValueError("axis != batch_dims is not supported for ragged gather" if axis > batch else
                         "axis must be greater than or equal to batch_dims")
    if batch and rank is not None and rank <= batch:
        raise ValueError(f"indices must have more than batch_dims={batch} dimensions, got shape {indices.shape}")
    if batch:
        return _gather_in_rows(params, indices, batch)
    return _gather_rows(params, indices)


def _gather_rows(params, indices):
    if isinstance(indices, RaggedTensor):
        return indices.with_flat_values(_gather_rows(params, indices.flat_values))
    if isinstance(params, RaggedTensor) and indices.shape.ndims == 0:
        return params[indices]
    return indexing.gather(params, indices)


def _gather_in_rows(params, indices, batch):
    dtype = next(v.row_splits.dtype.base_dtype for v in (params, indices) if isinstance(v, RaggedTensor))
    params, indices = functions.ragged(params, dtype), functions.ragged(indices, dtype)
    if batch > 1:
        same = checks.assert_equal(params.row_splits, indices.row_splits, message="params and indices must have the same rows")
        return RaggedTensor._of(_gather_in_rows(params.values, indices.values, batch - 1),
                                partitions.checked(indices.row_splits, [same], True))
    if isinstance(indices.values, RaggedTensor) or indices.values.shape.ndims != 1:
        raise ValueError("indices of rows must have one dimension more than batch_dims")
    chosen, rowids = math_ops.cast(indices.values, dtype), indices.value_rowids()
    limits = array_ops.gather(params.row_lengths(), rowids)
    within = [checks.assert_non_negative(chosen, message="indices must not be negative"),
              checks.assert_less(chosen, limits, message="indices must lie within their rows")]
    places = array_ops.gather(params.row_splits, rowids) + checks.with_dependencies(within, chosen)
    return indices.with_values(indexing.gather(params.values, places))


def gather_nd(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Tensor | RaggedTensor:
    """Elements, or parts, by indices of several dimensions."""
    params, indices = ragged_or_tensor(inputs[0]), ragged_or_tensor(inputs[1])
    if isinstance(indices, RaggedTensor):
        if indices.shape.ndims == indices.ragged_rank + 1:
            raise ValueError("The innermost dimension of indices may not be ragged")
        return indices.with_flat_values(gather_nd(op, [params, indices.flat_values], attrs))
    if isinstance(params, Tensor):
        return array_ops.gather_nd(params, indices)
    count = indices.shape._size(-1) if indices.shape.ndims else None
    if count is None:
        raise ValueError("indices must have a known size of the innermost dimension")
    indices = math_ops.cast(indices, params.row_splits.dtype.base_dtype)
    chosen, taken = indices[..., 0], 1
    while taken < count and isinstance(params, RaggedTensor):
        chosen = array_ops.gather(params.row_splits[:-1], chosen) + indices[..., taken]
        params, taken = params.values, taken + 1
    if taken < count:
        return array_ops.gather_nd(params, array_ops.concat([array_ops.expand_dims(chosen, -1), indices[..., taken:]], axis=-1))
    return _gather_rows(params, chosen)


def where(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Tensor:
    """The indices of all that is true."""
    [condition] = inputs
    found = array_ops.where(condition.flat_values)
    columns, value = [], found[:, 0]
    for splits in reversed(condition.nested_row_splits):
        splits = math_ops.cast(splits, value.dtype)
        row = array_ops.gather(partitions.rowids_from_splits(splits), value)
        columns.append(value - array_ops.gather(splits, row))
        value = row
    return array_ops.concat([array_ops.stack([value, *reversed(columns)], axis=1), found[:, 1:]], axis=1)


def select(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> RaggedTensor:
    """Of two of the same rows each value, or of any two each row, by a condition."""
    condition, x, y = map(ragged_or_tensor, inputs)
    if isinstance(condition, RaggedTensor):
        if not (isinstance(x, RaggedTensor) and isinstance(y, RaggedTensor)):
            raise ValueError("Input shapes do not match.")
        given = [condition, x, y]
        return flat_values.with_flat_values(given, apply(op, [v.flat_values for v in given]))
    condition.shape.assert_has_rank(1)
    dtype = next(v.row_splits.dtype.base_dtype for v in (x, y) if isinstance(v, RaggedTensor))
    x, y = functions.ragged(x, dtype), functions.ragged(y, dtype)
    number = x.nrows()
    same = [checks.assert_equal(number, y.nrows(), message="x and y must have as many rows"),
            checks.assert_equal(number, partitions.length_of(condition, dtype), message="condition and x must have as many rows")]
    rows = math_ops.range_(checks.with_dependencies(same, number))
    joined = array_ops.concat([x, y], axis=0)
    return indexing.gather(joined, array_ops.where(condition, rows, rows + number))


def dynamic_partition(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Tensor | RaggedTensor]:
    """What belongs to each partition."""
    made = functions.stack_dynamic_partitions(*inputs, attrs["num_partitions"])
    return [made[i] for i in range(attrs["num_partitions"])]
