# SPDX-License-Identifier: Apache-2.0
"""How values of several replicas become one."""
from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from thalweg.graph import graph, ops
from thalweg.graph.tensor import IndexedSlices
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class ReduceOp(enum.Enum):
    """SUM or MEAN."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def of(given: object) -> ReduceOp:
        """A ReduceOp, or the one of a name."""
        return given if isinstance(given, ReduceOp) else ReduceOp(str(given).upper())


class CollectiveCommunication(enum.Enum):
    """How members of a group talk to each other; all are the same here."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CrossDeviceOps:
    """How MirroredStrategy merges: all kinds merge on one device, in the order of replicas."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        del args, kwargs


class ReductionToOneDevice(CrossDeviceOps):
    """Merges on one device."""


class HierarchicalCopyAllReduce(CrossDeviceOps):
    """Of accelerators; here as ReductionToOneDevice."""


class NcclAllReduce(CrossDeviceOps):
    """Of accelerators; here as ReductionToOneDevice."""


def merged(op: object, values: Sequence[Any], device: str) -> Any:
    """The sum or mean of tensors or IndexedSlices, made on a device."""
    op, count = ReduceOp.of(op), len(values)
    with graph.device(device):
        if any(isinstance(v, IndexedSlices) for v in values):
            rows = [v if isinstance(v, IndexedSlices) else _all_rows(v) for v in values]
            total = array_ops.concat([r.values for r in rows], 0)
            if op is ReduceOp.MEAN:
                total = total / ops.convert_to_tensor(count, dtype=total.dtype)
            return IndexedSlices(total, array_ops.concat([r.indices for r in rows], 0), rows[0].dense_shape)
        tensors = [ops.convert_to_tensor(v) for v in values]
        total = math_ops.add_n(tensors) if count > 1 else array_ops.identity(tensors[0])
        if op is ReduceOp.SUM or count == 1:
            return total
        return total / count if total.dtype.is_integer else total / ops.convert_to_tensor(count, dtype=total.dtype)


def _all_rows(value):
    shape = array_ops.shape(value)
    return IndexedSlices(value, math_ops.range(shape[0]), shape)
