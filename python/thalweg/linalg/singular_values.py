# SPDX-License-Identifier: Apache-2.0
"""Ranks and inverses by singular values."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.linalg import matrices
from thalweg.operations import array_ops, checks, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


def _floating_matrices(a, hint=None):
    a = convert_to_tensor(a, preferred_dtype=hint, name="a")
    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    if a.shape.ndims is not None and a.shape.ndims < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {a.shape.ndims}).")
    return a


def _checked(a, validate_args):
    if not validate_args or a.shape.ndims is not None:
        return a
    with graph.control_dependencies([checks.assert_rank_at_least(a, 2, message="Input `a` must have at least 2 dimensions.")]):
        return array_ops.identity(a)


def matrix_rank(a: TensorLike, tol: TensorLike | None = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """How many singular values are larger than `tol`."""
    with name_scope(name, "matrix_rank"):
        a = _checked(_floating_matrices(a, dtypes.float32), validate_args)
        s = matrices.svd(a, compute_uv=False)
        if tol is None:
            size = math_ops.cast(math_ops.reduce_max(array_ops.shape(a)[-2:]), a.dtype)
            tol = np.finfo(a.dtype.as_numpy_dtype).eps * size * math_ops.reduce_max(s, -1, keepdims=True)
        return math_ops.reduce_sum(math_ops.cast(apply("Greater", [s, tol]), array_ops.shape(a).dtype), -1)


def pinv(a: TensorLike, rcond: TensorLike | None = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose inverses: singular values below rcond times the largest count as 0."""
    with name_scope(name or "pinv"):
        a = _checked(_floating_matrices(a), validate_args)
        dtype = a.dtype
        if rcond is None:
            sizes = array_ops.shape(a)[-2:]
            rcond = 10.0 * math_ops.cast(math_ops.reduce_max(sizes), dtype) * np.finfo(dtype.as_numpy_dtype).eps
        rcond = convert_to_tensor(rcond, dtype=dtype, name="rcond")
        s, left, right = matrices.svd(a, full_matrices=False)
        lowest = rcond[..., None] * math_ops.reduce_max(s, -1, keepdims=True)
        inverse = array_ops.where(apply("Greater", [s, lowest + array_ops.zeros_like(s)]), apply("Reciprocal", [s]),
                                  array_ops.zeros_like(s))
        made = math_ops.matmul(right * array_ops.expand_dims(inverse, -2), left, adjoint_b=True)
        if a.shape.ndims is not None:
            dims = a.shape.as_list()
            made.set_shape(dims[:-2] + [dims[-1], dims[-2]])
        return made
