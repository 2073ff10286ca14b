# SPDX-License-Identifier: Apache-2.0
"""Changes of rows and elements of variables."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph import graph, ops
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variables import Variable


def scatter(kind: str, ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = False,
            name: str | None = None) -> Tensor:
    """Rows of a variable: Update, Add, Sub, Mul ..."""
    if hasattr(ref, "_changed_part_by_part"):  # of a distribution strategy
        return ref._changed_part_by_part(lambda part: scatter(kind, part, indices, updates, use_locking, name))
    if getattr(ref, "_resource", False):
        updates = ops.convert_to_tensor(updates, dtype=ref._dtype)
        op = ops.apply(f"ResourceScatter{kind}", [ref.handle, indices, updates], {"dtype": ref._dtype}, name=name)
        with graph.control_dependencies([op]):
            return ref._as_tensor()
    return ops.apply(f"Scatter{kind}", [ref, indices, updates], {"use_locking": use_locking}, name=name)


def scatter_nd(kind: str, ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = False,
               name: str | None = None) -> Tensor:
    """Elements of a variable by full indices: Update, Add, Sub."""
    if hasattr(ref, "_changed_part_by_part"):
        return ref._changed_part_by_part(lambda part: scatter_nd(kind, part, indices, updates, use_locking, name))
    if getattr(ref, "_resource", False):
        updates = ops.convert_to_tensor(updates, dtype=ref._dtype)
        op = ops.apply(f"ResourceScatterNd{kind}", [ref.handle, indices, updates], {"use_locking": use_locking}, name)
        with graph.control_dependencies([op]):
            return ref._as_tensor()
    return ops.apply(f"ScatterNd{kind}", [ref, indices, updates], {"use_locking": use_locking}, name)


def batch_scatter_update(ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = True,
                         name: str | None = None) -> Tensor:
    """Row i of the indices chooses within part i of the variable what is set."""
    with graph.name_scope(name, "batch_scatter_update"):
        indices = ops.convert_to_tensor(indices, name="indices")
        sizes, rank = array_ops.shape(indices), indices.shape.ndims
        if rank is None:
            raise ValueError("batch_scatter_update needs indices of a known rank")
        grids = []
        for i in range(rank - 1):
            line = array_ops.reshape(ops.apply("Range", [0, sizes[i], 1]), [-1 if j == i else 1 for j in range(rank)])
            grids.append(ops.apply("Cast", [array_ops.broadcast_to(line, sizes)], {"DstT": indices.dtype}))
        return scatter_nd("Update", ref, array_ops.stack([*grids, indices], -1), updates, use_locking)


def scatter_update(ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = True,
                   name: str | None = None) -> Tensor:
    """Sets rows of a variable; gives its value."""
    return scatter("Update", ref, indices, updates, use_locking, name)


def scatter_add(ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = False,
                name: str | None = None) -> Tensor:
    """Adds to rows of a variable; gives its value."""
    return scatter("Add", ref, indices, updates, use_locking, name)


def scatter_sub(ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = False,
                name: str | None = None) -> Tensor:
    """Subtracts from rows of a variable; gives its value."""
    return scatter("Sub", ref, indices, updates, use_locking, name)


def _scatter(kind):
    def change(ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = False,
               name: str | None = None) -> Tensor:
        return scatter(kind, ref, indices, updates, use_locking, name)
    change.__name__ = change.__qualname__ = "scatter_" + kind.lower()
    change.__doc__ = f"Rows of a variable: {kind.lower()} with the updates; gives the variable."
    return change


scatter_div, scatter_max, scatter_min, scatter_mul = (_scatter(kind) for kind in ("Div", "Max", "Min", "Mul"))


def scatter_nd_add(ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = False,
                   name: str | None = None) -> Tensor:
    """Adds to elements of a variable by full indices."""
    return scatter_nd("Add", ref, indices, updates, use_locking, name)


def scatter_nd_sub(ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = False,
                   name: str | None = None) -> Tensor:
    """Subtracts from elements of a variable by full indices."""
    return scatter_nd("Sub", ref, indices, updates, use_locking, name)


def scatter_nd_update(ref: Variable | Tensor, indices: TensorLike, updates: TensorLike, use_locking: bool = True,
                      name: str | None = None) -> Tensor:
    """Sets elements of a variable by full indices."""
    return scatter_nd("Update", ref, indices, updates, use_locking, name)
