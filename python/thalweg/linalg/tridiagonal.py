# SPDX-License-Identifier: Apache-2.0
"""Systems of three diagonals."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.linalg import matrices
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


def _diagonals(diagonals, diagonals_format, dtype=None):
    """(above, on, below) the main diagonal, each [..., size]."""
    if diagonals_format == "compact":
        whole = convert_to_tensor(diagonals)
        if whole.shape.ndims is not None and (whole.shape.ndims < 2 or whole.shape._size(-2) not in (3, None)):
            raise ValueError(f"Expected diagonals to have shape [..., 3, size], found {whole.shape}")
        return tuple(whole[..., i, :] for i in range(3))
    if diagonals_format == "sequence":
        if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, on, below = (convert_to_tensor(d) for d in diagonals)
        size = on.shape._size(-1)

        def full(part, before, after):
            if part.shape._size(-1) is not None and size is not None and part.shape._size(-1) == size - 1:
                pads = [[0, 0]] * (part.shape.ndims - 1) + [[before, after]]
                return array_ops.pad(part, pads)
            return part
        return full(above, 0, 1), on, full(below, 1, 0)
    if diagonals_format == "matrix":
        whole = convert_to_tensor(diagonals)
        rows, columns = (whole.shape._size(i) for i in (-2, -1))
        if rows is None or rows != columns:
            raise ValueError(f"Expected last two dimensions of diagonals to be equal and known, found {whole.shape}")
        on = apply("MatrixDiagPart", [whole])
        pads = [[0, 0]] * (whole.shape.ndims - 2)
        above = array_ops.pad(apply("MatrixDiagPart", [whole[..., :-1, 1:]]), pads + [[0, 1]])
        below = array_ops.pad(apply("MatrixDiagPart", [whole[..., 1:, :-1]]), pads + [[1, 0]])
        return above, on, below
    raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")


def tridiagonal_solve(diagonals: TensorLike | Sequence[TensorLike], rhs: TensorLike, diagonals_format: str = "compact",
                      transpose_rhs: bool = False, conjugate_rhs: bool = False, name: str | None = None,
                      partial_pivoting: bool = True) -> Tensor:
    """The solutions of systems whose matrices have three diagonals."""
    with name_scope(name or "tridiagonal_solve"):
        whole = array_ops.stack(_diagonals(diagonals, diagonals_format), -2)
        rhs = convert_to_tensor(rhs, dtype=whole.dtype)
        if whole.shape.ndims is None or rhs.shape.ndims is None:
            raise ValueError("Expected diagonals and rhs to have known ranks")
        is_vector = rhs.shape.ndims == whole.shape.ndims - 1
        if conjugate_rhs:
            rhs = matrices.conjugate(rhs)
        if is_vector:
            rhs = array_ops.expand_dims(rhs, -1)
        elif transpose_rhs:
            rhs = array_ops.matrix_transpose(rhs)
        made = apply("TridiagonalSolve", [whole, rhs], {"partial_pivoting": partial_pivoting})
        if is_vector:
            return array_ops.squeeze(made, [-1])
        return array_ops.matrix_transpose(made) if transpose_rhs else made


def tridiagonal_matmul(diagonals: TensorLike | Sequence[TensorLike], rhs: TensorLike, diagonals_format: str = "compact",
                       name: str | None = None) -> Tensor:
    """Products of matrices of three diagonals with others."""
    with name_scope(name or "tridiagonal_matmul"):
        above, on, below = (array_ops.expand_dims(d, -2) for d in _diagonals(diagonals, diagonals_format))
        return apply("TridiagonalMatMul", [above, on, below, convert_to_tensor(rhs, dtype=on.dtype)])
