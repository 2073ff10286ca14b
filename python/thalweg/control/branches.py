# SPDX-License-Identifier: Apache-2.0
"""switch_case: one of several functions by number."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.control import control_flow
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply
from thalweg.graph.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import TensorLike


def _branches(branch_fns, default):
    """([(number, function)], the function of all other numbers)."""
    if isinstance(branch_fns, dict):
        branch_fns = branch_fns.items()
    if not isinstance(branch_fns, (list, tuple, type({}.items()))):
        raise TypeError("branch_fns must be a list, tuple, or dict")
    rows = list(branch_fns)
    if all(callable(f) for f in rows):
        rows = list(enumerate(rows))
    for row in rows:
        if not isinstance(row, tuple) or len(row) != 2 or isinstance(row[0], Tensor) or not isinstance(row[0], int):
            raise TypeError("Each entry in branch_fns must be a 2-tuple of a Python integer and a function")
        if not callable(row[1]):
            raise TypeError(f"fn for key {row[0]} must be callable.")
    if not rows:
        raise ValueError("Must provide at least one item in branch_fns")
    numbers = [n for n, _ in rows]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"branch_fns: a number is there twice: {sorted(numbers)}")
    rows.sort(key=lambda row: row[0])
    if default is None:
        default = rows[-1][1]
    if not callable(default):
        raise TypeError("default must be callable.")
    return rows, default


def switch_case(branch_index: TensorLike,
                branch_fns: Mapping[int, Callable[[], object]] | Sequence[Callable[[], object] | tuple[int, Callable[[], object]]],
                default: Callable[[], object] | None = None, name: str = "switch_case") -> Any:
    """What the function of this number gives; of a number without one, the default or the last."""
    rows, default = _branches(branch_fns, default)
    with name_scope(name):
        if not isinstance(branch_index, Tensor) and not hasattr(branch_index, "_as_tensor") and not isinstance(branch_index, int):
            raise TypeError(f"branch_index must be a Tensor, got {type(branch_index)}")
        index = ops.convert_to_tensor(branch_index, name="branch_index")

        def chain(rest):
            if not rest:
                return default()
            return control_flow.cond(apply("Equal", [index, rest[0][0]]), rest[0][1], lambda: chain(rest[1:]))
        return chain(rows)
