# SPDX-License-Identifier: Apache-2.0
"""Values in order, and their places."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor, is_dense
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


def _axis_and_order(values, axis, direction):
    """(axis as a place from the front or -1, whether the smallest comes first)."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Direction should be one of ASCENDING, DESCENDING. Instead got {direction}")
    rank = values.shape.ndims
    if is_dense(axis):
        raise ValueError("axis must be a number that is known when the graph is built")
    if rank is not None and not -rank <= axis < rank:
        raise ValueError(f"Invalid axis {axis} for values of rank {rank}")
    return -1 if rank is not None and axis % rank == rank - 1 else axis, direction == "ASCENDING"


def _flipped(values):
    """Values in the opposite order; a second time, themselves."""
    dtype = values.dtype.base_dtype
    if not dtype.is_integer:
        return apply("Neg", [values])
    return apply("Sub", [constant(dtype.max if dtype.is_unsigned else -1, dtype), values])


def _best_first(values, axis, rising):
    """(values, places) in order along an axis. TopKV2 puts the largest first, along the last one."""
    order = None
    if axis != -1:
        rank = values.shape.ndims
        if rank is None:
            raise ValueError("values must have a known rank to be sorted along another axis than the last")
        order = list(range(rank))
        order[axis % rank], order[-1] = order[-1], order[axis % rank]
        values = array_ops.transpose(values, order)
    found, places = apply("TopKV2", [_flipped(values) if rising else values, array_ops.shape(values)[-1]])
    found = _flipped(found) if rising else found
    return (found, places) if order is None else (array_ops.transpose(found, order), array_ops.transpose(places, order))


def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Sorts along a dimension.

    Parameters
    ----------
    values : numeric tensor
    axis : int
    direction : str
        "ASCENDING" or "DESCENDING".
    name : str, optional

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        There is no such direction.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.sort([3, 1, 2])))
    [1 2 3]
    """
    with name_scope(name, "sort"):
        values = convert_to_tensor(values)
        return _best_first(values, *_axis_and_order(values, axis, direction))[0]


def argsort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING", stable: bool = False,
            name: str | None = None) -> Tensor:
    """Gives the places of the values in the order in which they sort, along a dimension; equal ones keep their order.

    Parameters
    ----------
    values : numeric tensor
    axis : int
    direction : str
        "ASCENDING" or "DESCENDING".
    stable : bool
        Of no effect: it always is.
    name : str, optional

    Returns
    -------
    Tensor
        int32.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.argsort([3, 1, 2])))
    [1 2 0]
    """
    with name_scope(name, "argsort"):
        values = convert_to_tensor(values)
        return _best_first(values, *_axis_and_order(values, axis, direction))[1]
