# SPDX-License-Identifier: Apache-2.0
"""Ranks and inverses by singular values; systems of three diagonals."""
import numpy as np

from thalweg import array_ops, checks, dtypes, graph, linalg, math_ops
from thalweg.graph import name_scope
from thalweg.ops import apply, convert_to_tensor


def _floating_matrices(a, hint=None):
    a = convert_to_tensor(a, preferred_dtype=hint, name="a")
    if not a.dtype.is_floating:
        raise TypeError("Input `a` must have `float`-like `dtype` (saw {}).".format(a.dtype.name))
    if a.shape.ndims is not None and a.shape.ndims < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {a.shape.ndims}).")
    return a


def _checked(a, validate_args):
    if not validate_args or a.shape.ndims is not None:
        return a
    with graph.control_dependencies([checks.assert_rank_at_least(a, 2, message="Input `a` must have at least 2 dimensions.")]):
        return array_ops.identity(a)


def matrix_rank(a, tol=None, validate_args=False, name=None):
    """How many singular values are larger than `tol`."""
    with name_scope(name, "matrix_rank"):
        a = _checked(_floating_matrices(a, dtypes.float32), validate_args)
        s = linalg.svd(a, compute_uv=False)
        if tol is None:
            size = math_ops.cast(math_ops.reduce_max(array_ops.shape(a)[-2:]), a.dtype)
            tol = np.finfo(a.dtype.as_numpy_dtype).eps * size * math_ops.reduce_max(s, -1, keepdims=True)
        return math_ops.reduce_sum(math_ops.cast(apply("Greater", [s, tol]), array_ops.shape(a).dtype), -1)


def pinv(a, rcond=None, validate_args=False, name=None):
    """The Moore-Penrose inverses: singular values below rcond times the largest count as 0."""
    with name_scope(name or "pinv"):
        a = _checked(_floating_matrices(a), validate_args)
        dtype = a.dtype
        if rcond is None:
            sizes = array_ops.shape(a)[-2:]
            rcond = 10.0 * math_ops.cast(math_ops.reduce_max(sizes), dtype) * np.finfo(dtype.as_numpy_dtype).eps
        rcond = convert_to_tensor(rcond, dtype=dtype, name="rcond")
        s, left, right = linalg.svd(a, full_matrices=False)
        lowest = rcond[..., None] * math_ops.reduce_max(s, -1, keepdims=True)
        inverse = array_ops.where(apply("Greater", [s, lowest + array_ops.zeros_like(s)]), apply("Reciprocal", [s]),
                                  array_ops.zeros_like(s))
        made = math_ops.matmul(right * array_ops.expand_dims(inverse, -2), left, adjoint_b=True)
        if a.shape.ndims is not None:
            dims = a.shape.as_list()
            made.set_shape(dims[:-2] + [dims[-1], dims[-2]])
        return made


# ---- three diagonals ----
def _diagonals(diagonals, diagonals_format, dtype=None):
    """(above, on, below) the main diagonal, each [..., size]."""
    if diagonals_format == "compact":
        whole = convert_to_tensor(diagonals)
        if whole.shape.ndims is not None and (whole.shape.ndims < 2 or not whole.shape[-2].is_compatible_with(3)):
            raise ValueError(f"Expected diagonals to have shape [..., 3, size], found {whole.shape}")
        return tuple(whole[..., i, :] for i in range(3))
    if diagonals_format == "sequence":
        if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, on, below = (convert_to_tensor(d) for d in diagonals)
        size = on.shape[-1].value

        def full(part, before, after):
            if part.shape[-1].value is not None and size is not None and part.shape[-1].value == size - 1:
                pads = [[0, 0]] * (part.shape.ndims - 1) + [[before, after]]
                return array_ops.pad(part, pads)
            return part
        return full(above, 0, 1), on, full(below, 1, 0)
    if diagonals_format == "matrix":
        whole = convert_to_tensor(diagonals)
        rows, columns = (whole.shape[i].value for i in (-2, -1))
        if rows is None or rows != columns:
            raise ValueError(f"Expected last two dimensions of diagonals to be equal and known, found {whole.shape}")
        on = apply("MatrixDiagPart", [whole])
        pads = [[0, 0]] * (whole.shape.ndims - 2)
        above = array_ops.pad(apply("MatrixDiagPart", [whole[..., :-1, 1:]]), pads + [[0, 1]])
        below = array_ops.pad(apply("MatrixDiagPart", [whole[..., 1:, :-1]]), pads + [[1, 0]])
        return above, on, below
    raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")


def tridiagonal_solve(diagonals, rhs, diagonals_format="compact", transpose_rhs=False, conjugate_rhs=False, name=None,
                      partial_pivoting=True):
    """The solutions of systems whose matrices have three diagonals."""
    with name_scope(name or "tridiagonal_solve"):
        whole = array_ops.stack(_diagonals(diagonals, diagonals_format), -2)
        rhs = convert_to_tensor(rhs, dtype=whole.dtype)
        if whole.shape.ndims is None or rhs.shape.ndims is None:
            raise ValueError("Expected diagonals and rhs to have known ranks")
        is_vector = rhs.shape.ndims == whole.shape.ndims - 1
        if conjugate_rhs:
            rhs = linalg._conjugate(rhs)
        if is_vector:
            rhs = array_ops.expand_dims(rhs, -1)
        elif transpose_rhs:
            rhs = array_ops.matrix_transpose(rhs)
        made = apply("TridiagonalSolve", [whole, rhs], {"partial_pivoting": partial_pivoting})
        if is_vector:
            return array_ops.squeeze(made, [-1])
        return array_ops.matrix_transpose(made) if transpose_rhs else made


def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """Products of matrices of three diagonals with others."""
    with name_scope(name or "tridiagonal_matmul"):
        above, on, below = (array_ops.expand_dims(d, -2) for d in _diagonals(diagonals, diagonals_format))
        return apply("TridiagonalMatMul", [above, on, below, convert_to_tensor(rhs, dtype=on.dtype)])
