# SPDX-License-Identifier: Apache-2.0
"""All-reduce as nodes of the graph: every device gets what all of them bring, merged, over edges between neighbors of a ring."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.operations import array_ops, checks, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.graph.tensor import Tensor

_MERGES = {"sum": "AddV2", "mean": "AddV2", "prod": "Mul", "max": "Maximum", "min": "Minimum"}


@contextlib.contextmanager
def _on(device):
    """A scope on this device, whatever those around it say."""
    with graph.device(None), graph.device(device or None):
        yield


def _checked(tensors, devices):
    """The tensors as such, and the device of each."""
    tensors = [convert_to_tensor(t) for t in tensors]
    if not tensors:
        raise ValueError("ring_all_reduce needs at least one tensor")
    if devices is not None and len(devices) != len(tensors):
        raise ValueError(f"ring_all_reduce got {len(tensors)} tensors and {len(devices)} devices")
    first = tensors[0]
    for t in tensors[1:]:
        if t.dtype.base_dtype != first.dtype.base_dtype:
            raise ValueError(f"ring_all_reduce needs one type, got {first.dtype.name} and {t.dtype.name}")
        if not t.shape.is_compatible_with(first.shape):
            raise ValueError(f"ring_all_reduce needs one shape, got {first.shape} and {t.shape}")
    return tensors, devices or [t.device for t in tensors]


def _chunks(tensor, shape, n):
    """n pieces of the elements, as equal as they can be."""
    flat = array_ops.reshape(tensor, [-1])
    if shape.is_fully_defined():
        size = shape.num_elements()
        return array_ops.split(flat, [(size + n - 1 - i) // n for i in range(n)])
    first = constant(list(range(n - 1, -1, -1)), "int64")
    return array_ops.split(flat, (array_ops.size(flat, out_type="int64") + first) // n, num=n)


def ring_all_reduce(tensors: Sequence[Tensor], op: Any = "sum", devices: Sequence[str] | None = None,
                    name: str | None = None) -> list[Tensor]:
    """One tensor for each of `tensors`, on its device: all of them merged, element by element.

    Each device adds up one chunk of the elements, which goes once round the ring, and then once more with the result: so
    every device sends and receives about twice the tensor, however many there are. All results have the same bits; these
    depend on the order of `tensors` and nothing else.

    Args:
      tensors: one for each device, of one type and shape.
      op: "sum", "mean" (of integers rounded down), "prod", "max" or "min".
      devices: where each tensor is; by default, where it was made.
      name: of the scope.
    Errors: ValueError for different types, shapes that contradict, an unknown `op`; InvalidArgumentError in the step for
    shapes that are known then.
    """
    if op not in _MERGES:
        raise ValueError(f"op must be one of {', '.join(sorted(_MERGES))}, got {op!r}")
    tensors, devices = _checked(tensors, devices)
    n, shape = len(tensors), tensors[0].shape
    for t in tensors[1:]:
        shape = shape.merge_with(t.shape)
    with name_scope(name, "ring_all_reduce", tensors):
        if not all(t.shape.is_fully_defined() for t in tensors):
            tensors = _of_one_shape(tensors, devices)
        pieces = []  # by device, then by chunk
        for tensor, device in zip(tensors, devices):
            with _on(device):
                pieces.append(_chunks(tensor, shape, n) if n > 1 else [array_ops.identity(tensor)])
        gathered = _gathered([_merged(pieces, chunk, op, devices) for chunk in range(n)], devices)
        results = []
        for tensor, device, parts in zip(tensors, devices, gathered):
            with _on(device):
                whole = array_ops.concat(parts, 0) if n > 1 else parts[0]
                results.append(array_ops.reshape(whole, shape.as_list() if shape.is_fully_defined() else array_ops.shape(tensor)))
        return results


def _of_one_shape(tensors, devices):
    """The tensors, once their shapes were compared with the first one's."""
    with _on(devices[0]):
        shape = array_ops.shape(tensors[0])
    same = [tensors[0]]
    for tensor, device in zip(tensors[1:], devices[1:]):
        with _on(device):
            check = checks.assert_equal(array_ops.shape(tensor), shape, message="ring_all_reduce needs one shape")
            with graph.control_dependencies([check]):
                same.append(array_ops.identity(tensor))
    return same


def _merged(pieces, chunk, op, devices):
    """The chunk of all devices, merged along the ring, which ends at device `chunk`."""
    n = len(devices)
    total = None
    for hop in range(1, n + 1):
        at = (chunk + hop) % n
        with _on(devices[at]):
            own = pieces[at][chunk]
            total = own if total is None else apply(_MERGES[op], [total, own])
    if op == "mean" and n > 1:
        with _on(devices[chunk]):
            total = math_ops.div(total, constant(n, total.dtype.base_dtype))
    return total


def _gathered(merged, devices):
    """By device, all merged chunks, each handed from neighbor to neighbor."""
    n = len(devices)
    gathered = [[None] * n for _ in range(n)]
    for chunk, value in enumerate(merged):
        gathered[chunk][chunk] = value
        for hop in range(1, n):
            at = (chunk + hop) % n
            with _on(devices[at]):
                value = gathered[at][chunk] = array_ops.identity(value)
    return gathered
