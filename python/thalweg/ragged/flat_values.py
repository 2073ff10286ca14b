# SPDX-License-Identifier: Apache-2.0
"""What operators and functions of tensors make of the innermost values of RaggedTensors that have the same rows."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.ops import convert_to_tensor
from thalweg.operations import checks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.graph.tensor import Tensor
    from thalweg.ragged.ragged_tensor import RaggedTensor


def is_ragged(value: object) -> bool:
    """Whether it is a RaggedTensor, or the value of one."""
    return hasattr(value, "nested_row_splits")


def same_rows(all_rows: Sequence[RaggedTensor]) -> list[object]:
    """Conditions that they have the same rows; ValueError where it is clear that they have not."""
    first = all_rows[0].nested_row_splits
    conditions = []
    for other in all_rows[1:]:
        if len(other.nested_row_splits) != len(first):
            raise ValueError("Inputs must have identical ragged splits")
        conditions += [checks.assert_equal(a, b, message="Inputs must have identical ragged splits")
                       for a, b in zip(first, other.nested_row_splits) if a is not b]
    return conditions


def with_flat_values(all_rows: Sequence[RaggedTensor], values: Tensor) -> RaggedTensor:
    """Rows like those of all, of other innermost values."""
    conditions = same_rows(all_rows)
    rows = all_rows[0]
    if not conditions:
        return rows.with_flat_values(values)
    splits = [checks.with_dependencies(conditions, s) for s in rows.nested_row_splits]
    return type(rows).from_nested_row_splits(values, splits, validate=False)


def elementwise(op: Callable[[object, object], Tensor], a: object, b: object) -> RaggedTensor:
    """What the operator makes of two, of which one may be a scalar."""
    rows = [value for value in (a, b) if is_ragged(value)]

    def flat(value):
        if is_ragged(value):
            return value.flat_values
        dense = convert_to_tensor(value, rows[0].dtype.base_dtype)
        if dense.shape.ndims != 0:
            raise ValueError(f"operators take RaggedTensors of the same rows and scalars, got a tensor of shape {dense.shape}")
        return dense
    return with_flat_values(rows, op(flat(a), flat(b)))
