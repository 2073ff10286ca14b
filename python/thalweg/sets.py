# SPDX-License-Identifier: Apache-2.0
"""tw.sets: rows of the last dimension as sets."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.base import names
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from thalweg.base.typing import SparseLike, TensorLike
    from thalweg.graph.tensor import Tensor

_TYPES = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.string)


def _is_sparse(x):
    return hasattr(x, "dense_shape")


def _inputs(x, dtype=None):
    if _is_sparse(x):
        x = SparseTensor.from_value(x)
        parts = [x.indices, x.values, x.dense_shape]
    else:
        parts = [convert_to_tensor(x, dtype)]
    if x.dtype.base_dtype not in _TYPES if _is_sparse(x) else parts[0].dtype.base_dtype not in _TYPES:
        raise TypeError("Type of sets must be an integer type or string.")
    return parts


def set_size(a: SparseLike, validate_indices: bool = True) -> Tensor:
    """How many different elements each set has."""
    if not _is_sparse(a):
        raise TypeError("Expected `SparseTensor`, got %s." % a)
    return apply("SetSize", _inputs(a), {"validate_indices": validate_indices})


def _operation(a, b, operation, validate_indices):
    if _is_sparse(a) and not _is_sparse(b):  # there is no such operation: the other way round
        a, b = b, a
        operation = {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
    op = {0: "DenseToDenseSetOperation", 1: "DenseToSparseSetOperation", 2: "SparseToSparseSetOperation"}[
        _is_sparse(a) + _is_sparse(b)]
    made = apply(op, [*_inputs(a), *_inputs(b)], {"set_operation": operation, "validate_indices": validate_indices})
    return SparseTensor(*made)


def intersection(a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, validate_indices: bool = True) -> SparseTensor:
    """What is in both."""
    return _operation(a, b, "intersection", validate_indices)


def difference(a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, aminusb: bool = True,
               validate_indices: bool = True) -> SparseTensor:
    """What is in a and not in b, or the other way round."""
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, validate_indices: bool = True) -> SparseTensor:
    """What is in one or the other."""
    return _operation(a, b, "union", validate_indices)


names.complete(globals())
