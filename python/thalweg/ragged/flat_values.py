# SPDX-License-Identifier: Apache-2.0
"""What operators and functions of tensors make of the innermost values of RaggedTensors that have the same rows."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.operations import checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.graph.tensor import Tensor
    from thalweg.ragged.ragged_tensor import RaggedTensor


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


def same_outer_rows(all_rows: Sequence[RaggedTensor]) -> list[object]:
    """Conditions that the rows of the outermost ragged dimension are the same."""
    first = all_rows[0].row_splits
    return [checks.assert_equal(first, other.row_splits, message="Inputs must have identical ragged splits")
            for other in all_rows[1:] if other.row_splits is not first]


def with_flat_values(all_rows: Sequence[RaggedTensor], values: Tensor) -> RaggedTensor:
    """Rows like those of all, of other innermost values."""
    conditions = same_rows(all_rows)
    rows = all_rows[0]
    if not conditions:
        return rows.with_flat_values(values)
    splits = [checks.with_dependencies(conditions, s) for s in rows.nested_row_splits]
    return type(rows).from_nested_row_splits(values, splits, validate=False)
