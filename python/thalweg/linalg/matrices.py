# SPDX-License-Identifier: Apache-2.0
"""Functions of matrices that are more than one operation."""
from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from thalweg import dtypes
from thalweg.graph import graph
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from thalweg.base.typing import DTypeLike, DynamicShape, IntLike, TensorLike
    from thalweg.graph.tensor import Tensor


def conjugate(x: TensorLike) -> Tensor:
    return apply("Conj", [x]) if x.dtype.is_complex else x


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The conjugate transposes of the last two axes."""
    with graph.name_scope(name or "adjoint"):
        return array_ops.matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Sums of the diagonals of the last two axes."""
    with graph.name_scope(name or "Trace"):
        return math_ops.reduce_sum(apply("MatrixDiagPart", [convert_to_tensor(x, name="x")]), [-1])


def eye(num_rows: IntLike, num_columns: IntLike | None = None, batch_shape: DynamicShape | None = None,
        dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Identity matrices [*batch_shape, num_rows, num_columns]."""
    with graph.name_scope(name or "eye"):
        columns = num_rows if num_columns is None else num_columns
        batch = convert_to_tensor([] if batch_shape is None else batch_shape, dtype=dtypes.int32)
        if num_columns is None or (isinstance(num_rows, int) and num_rows == num_columns):
            return apply("MatrixDiag", [array_ops.ones(array_ops.concat([batch, [num_rows]], 0), dtype)])
        made = array_ops.zeros(array_ops.concat([batch, [num_rows, columns]], 0), dtype)
        smaller = apply("Minimum", [num_rows, columns])
        return apply("MatrixSetDiag", [made, array_ops.ones(array_ops.concat([batch, array_ops.reshape(smaller, [1])], 0), dtype)])


def matrix_solve_ls(matrix: TensorLike, rhs: TensorLike, l2_regularizer: float = 0.0, fast: bool = True,
                    name: str | None = None) -> Tensor:
    """The least-squares solutions of matrix x = rhs; `fast` by the normal equations with the regularizer on their diagonal."""
    with graph.name_scope(name or "matrix_solve_ls"):
        matrix = convert_to_tensor(matrix, name="matrix")
        rhs = convert_to_tensor(rhs, dtype=matrix.dtype, name="rhs")
        rows, columns = matrix.shape[-2:].as_list() if matrix.shape.ndims else (None, None)
        if fast and None not in (rows, columns):
            return _normal_equations(matrix, rhs, l2_regularizer, rows >= columns)
        return apply("MatrixSolveLs", [matrix, rhs, constant(l2_regularizer, dtypes.float64)], {"fast": fast})


def _normal_equations(matrix, rhs, regularizer, is_tall):
    """By Cholesky factors of A* A, or of A A* where there are fewer equations than unknowns; differentiable."""
    gram = math_ops.matmul(matrix, matrix, adjoint_a=is_tall, adjoint_b=not is_tall)
    if regularizer != 0:
        size = gram.shape._size(-1)
        gram = gram + eye(size, dtype=matrix.dtype) * constant(regularizer, matrix.dtype)
    factor = apply("Cholesky", [gram])
    if is_tall:
        return cholesky_solve(factor, math_ops.matmul(matrix, rhs, adjoint_a=True))
    return math_ops.matmul(matrix, cholesky_solve(factor, rhs), adjoint_a=True)


lstsq = matrix_solve_ls


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """The solutions of A x = rhs, from the lower factors of A."""
    with graph.name_scope(name or "cholesky_solve"):
        half = apply("MatrixTriangularSolve", [chol, rhs], {"adjoint": False, "lower": True})
        return apply("MatrixTriangularSolve", [chol, half], {"adjoint": True, "lower": True})


def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes eigenvalues and eigenvectors of self-adjoint matrices.

    Parameters
    ----------
    tensor : tensor of a floating or complex type, [..., N, N]
        Of each matrix the lower part counts.
    name : str, optional

    Returns
    -------
    tuple of Tensor
        Eigenvalues [..., N], rising; eigenvectors [..., N, N], a column each.

    Raises
    ------
    ValueError
        The matrices are not square.

    Examples
    --------
    >>> values, vectors = tw.self_adjoint_eig([[2.0, 0.0], [0.0, 1.0]])
    >>> with tw.Session() as sess:
    ...     print(sess.run(values))
    [1. 2.]
    """
    return apply("SelfAdjointEigV2", [tensor], {"compute_v": True}, name)


def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Eigenvalues, rising, of self-adjoint matrices."""
    return apply("SelfAdjointEigV2", [tensor], {"compute_v": False}, name)[0]


eigh, eigvalsh = self_adjoint_eig, self_adjoint_eigvals


@overload
def svd(tensor: TensorLike, full_matrices: bool = False, compute_uv: Literal[True] = True,
        name: str | None = None) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def svd(tensor: TensorLike, full_matrices: bool, compute_uv: Literal[False], name: str | None = None) -> Tensor: ...
@overload
def svd(tensor: TensorLike, full_matrices: bool = False, *, compute_uv: Literal[False], name: str | None = None) -> Tensor: ...
def svd(tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """(s, u, v) with tensor = u diag(s) v*, or s alone."""
    s, u, v = apply("Svd", [tensor], {"full_matrices": full_matrices, "compute_uv": compute_uv}, name)
    return (s, u, v) if compute_uv else s


def einsum(equation: str, *inputs: TensorLike, **kwargs: object) -> Tensor:
    """Sums of products as the equation says: einsum("ij,jk->ik", a, b)."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(sorted(kwargs))}")
    equation = equation.replace(" ", "")
    if "->" not in equation:  # what occurs once, by letters
        letters = equation.replace(",", "").replace("...", "")
        equation += "->" + ("..." if "..." in equation else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    return apply("Einsum", [list(inputs)], {"equation": equation}, name)


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Matrix exponentials."""
    return apply("MatrixExponential", [input], {}, name)


def slogdet(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(sign, logarithm of the absolute value) of determinants."""
    return apply("LogMatrixDeterminant", [input], {}, name)


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Logarithms of the determinants of positive definite matrices."""
    with graph.name_scope(name or "logdet"):
        factor = apply("Cholesky", [matrix])
        return 2 * math_ops.reduce_sum(apply("Log", [apply("Real", [apply("MatrixDiagPart", [factor])]) if factor.dtype.is_complex
                                                     else apply("MatrixDiagPart", [factor])]), [-1])


def matvec(a: TensorLike, b: TensorLike, transpose_a: bool = False, adjoint_a: bool = False, a_is_sparse: bool = False,
           b_is_sparse: bool = False, name: str | None = None) -> Tensor:
    """Products of matrices and vectors."""
    with graph.name_scope(name or "MatVec"):
        column = array_ops.expand_dims(convert_to_tensor(b), -1)
        return array_ops.squeeze(math_ops.matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a, a_is_sparse=a_is_sparse,
                                                 b_is_sparse=b_is_sparse), [-1])


def norm(tensor: TensorLike, ord: int | float | str = "euclidean", axis: int | Sequence[int] | None = None,
         keepdims: bool | None = None, name: str | None = None, keep_dims: bool | None = None) -> Tensor:
    """Norms of vectors, or of matrices where `axis` is a pair."""
    keepdims = bool(keepdims if keepdims is not None else keep_dims)
    is_matrix = isinstance(axis, (list, tuple)) and len(axis) == 2
    if isinstance(axis, (list, tuple)) and not 1 <= len(axis) <= 2:
        raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
    allowed = ["euclidean", "fro", 1, 2, np.inf] if is_matrix else ["euclidean", 1, 2, np.inf]
    if ord not in allowed and (is_matrix or isinstance(ord, str) or not ord > 0):
        raise ValueError(f"'ord' must be a supported {'matrix' if is_matrix else 'vector'} norm in {allowed}, got {ord}")
    with graph.name_scope(name or "norm"):
        tensor = convert_to_tensor(tensor)
        if is_matrix and ord == 2:
            return _spectral_norm(tensor, axis, keepdims)
        size = apply("ComplexAbs", [tensor]) if tensor.dtype.is_complex else apply("Abs", [tensor])
        if ord in ("euclidean", "fro") or ord == 2:
            return apply("Sqrt", [math_ops.reduce_sum(size * size, axis, keepdims=keepdims)])
        if is_matrix:  # the largest sum of a column, or of a row
            first, second = (axis[0], axis[1]) if ord == 1 else (axis[1], axis[0])
            sums = math_ops.reduce_sum(size, first, keepdims=True)
            made = math_ops.reduce_max(sums, second, keepdims=True)
            return made if keepdims else array_ops.squeeze(made, list(axis))
        if ord == np.inf:
            return math_ops.reduce_max(size, axis, keepdims=keepdims)
        if ord == 1:
            return math_ops.reduce_sum(size, axis, keepdims=keepdims)
        return math_ops.pow_(math_ops.reduce_sum(math_ops.pow_(size, ord), axis, keepdims=keepdims), 1.0 / ord)


def _spectral_norm(tensor, axis, keepdims):
    """The largest singular value of the matrices in the axes."""
    rank = tensor.shape.ndims
    rows, columns = (a % rank for a in axis)
    order = [a for a in range(rank) if a not in (rows, columns)] + [rows, columns]
    largest = math_ops.reduce_max(svd(array_ops.transpose(tensor, order), compute_uv=False), -1)
    if keepdims:
        for a in sorted((rows, columns)):
            largest = array_ops.expand_dims(largest, a)
    return largest


def normalize(tensor: TensorLike, ord: int | float | str = "euclidean", axis: int | Sequence[int] | None = None,
              name: str | None = None) -> tuple[Tensor, Tensor]:
    """(tensor over its norm, the norm)."""
    with graph.name_scope(name or "normalize"):
        tensor = convert_to_tensor(tensor)
        size = math_ops.cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype)
        return tensor / size, size
