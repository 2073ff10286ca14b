# SPDX-License-Identifier: Apache-2.0
"""Linear operators of one matrix: whole, diagonal, identity, zero, a reflection."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.linalg import matrices
from thalweg.linalg.linear_operator import LinearOperator, _hints
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike, DynamicShape, IntLike, TensorLike
    from thalweg.graph.tensor import Tensor


class LinearOperatorFullMatrix(LinearOperator):
    """A matrix as it is."""

    def __init__(self, matrix: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None,
                 name: str = "LinearOperatorFullMatrix") -> None:
        hints = _hints(locals())
        self._matrix = convert_to_tensor(matrix, name="matrix")
        if self._matrix.shape.ndims is not None and self._matrix.shape.ndims < 2:
            raise ValueError(f"Argument matrix must have at least 2 dimensions.  Found: {self._matrix}")
        super().__init__(self._matrix.dtype, name=name, **hints)

    def _to_dense(self):
        return self._matrix


class LinearOperatorDiag(LinearOperator):
    """A diagonal, zeros elsewhere."""

    def __init__(self, diag: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None,
                 name: str = "LinearOperatorDiag") -> None:
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        self.diag = self._diag = convert_to_tensor(diag, name="diag")
        if not self.diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        hints = {**_hints(locals()), "is_square": True}
        super().__init__(self.diag.dtype, name=name, **hints)

    def _to_dense(self):
        return apply("MatrixDiag", [self.diag])

    def _product(self, x, adjoint):
        return array_ops.expand_dims(matrices.conjugate(self.diag) if adjoint else self.diag, -1) * x

    def _solution(self, rhs, adjoint):
        return rhs / array_ops.expand_dims(matrices.conjugate(self.diag) if adjoint else self.diag, -1)

    def determinant(self, name: str = "det") -> Tensor:
        return math_ops.reduce_prod(self.diag, [-1], name=name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        size = apply("ComplexAbs", [self.diag]) if self.dtype.is_complex else apply("Abs", [self.diag])
        return math_ops.reduce_sum(apply("Log", [size]), [-1], name=name)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        return array_ops.identity(self.diag, name=name)


class LinearOperatorIdentity(LinearOperator):
    """Ones on the diagonal."""

    def __init__(self, num_rows: IntLike, batch_shape: DynamicShape | None = None, dtype: DTypeLike | None = None,
                 is_non_singular: bool = True, is_self_adjoint: bool = True, is_positive_definite: bool = True,
                 is_square: bool = True, assert_proper_shapes: bool = False, name: str = "LinearOperatorIdentity") -> None:
        if not is_non_singular or not is_self_adjoint or not is_positive_definite or not is_square:
            raise ValueError("An identity operator is always non-singular, self-adjoint, positive definite and square.")
        hints = _hints(locals())
        self._rows, self._batch = num_rows, batch_shape
        super().__init__(dtype or dtypes.float32, name=name, **hints)

    def _to_dense(self):
        return matrices.eye(self._rows, batch_shape=self._batch, dtype=self.dtype)

    def _product(self, x, adjoint):
        return array_ops.identity(x) if self._batch is None else super()._product(x, adjoint)

    def _solution(self, rhs, adjoint):
        return self._product(rhs, adjoint)


class LinearOperatorScaledIdentity(LinearOperator):
    """One number on the diagonal."""

    def __init__(self, num_rows: IntLike, multiplier: TensorLike, is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool = True,
                 assert_proper_shapes: bool = False, name: str = "LinearOperatorScaledIdentity") -> None:
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        self._multiplier, self._rows = convert_to_tensor(multiplier, name="multiplier"), num_rows
        if not self._multiplier.dtype.is_complex:
            is_self_adjoint = True
        hints = _hints(locals())
        super().__init__(self._multiplier.dtype, name=name, **hints)

    @property
    def multiplier(self) -> Tensor: return self._multiplier

    def _to_dense(self):
        return matrices.eye(self._rows, batch_shape=array_ops.shape(self._multiplier), dtype=self.dtype) * array_ops.reshape(
            self._multiplier, array_ops.concat([array_ops.shape(self._multiplier), [1, 1]], 0))


class LinearOperatorZeros(LinearOperator):
    """Nothing but zeros."""

    def __init__(self, num_rows: IntLike, num_columns: IntLike | None = None, batch_shape: DynamicShape | None = None,
                 dtype: DTypeLike | None = None, is_non_singular: bool = False, is_self_adjoint: bool = True,
                 is_positive_definite: bool = False, is_square: bool = True, assert_proper_shapes: bool = False,
                 name: str = "LinearOperatorZeros") -> None:
        if is_non_singular or is_positive_definite:
            raise ValueError("A zero operator is singular.")
        hints = _hints(locals())
        if num_columns is not None and num_columns != num_rows:
            hints.update(is_self_adjoint=None, is_square=False)
        self._sizes = [*(batch_shape or []), num_rows, num_rows if num_columns is None else num_columns]
        super().__init__(dtype or dtypes.float32, name=name, **hints)

    def _to_dense(self):
        return array_ops.zeros(self._sizes, self.dtype)

    def determinant(self, name: str = "det") -> Tensor:
        return array_ops.zeros(self._sizes[:-2], self.dtype, name=name)


class LinearOperatorHouseholder(LinearOperator):
    """The reflection at the plane to which the axis is at right angles."""

    def __init__(self, reflection_axis: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None,
                 name: str = "LinearOperatorHouseholder") -> None:
        if is_square is False or is_self_adjoint is False or is_positive_definite or is_non_singular is False:
            raise ValueError("A Householder operator is always square, non-singular, self-adjoint and not positive definite.")
        self.reflection_axis = convert_to_tensor(reflection_axis, name="reflection_axis")
        super().__init__(self.reflection_axis.dtype, None, True, True, False, True, name)

    def _to_dense(self):
        axis, _ = matrices.normalize(self.reflection_axis, axis=-1)
        column = array_ops.expand_dims(axis, -1)
        return matrices.eye(self.reflection_axis.shape._size(-1), dtype=self.dtype) - 2 * math_ops.matmul(column, column,
                                                                                                      adjoint_b=True)

    def _solution(self, rhs, adjoint):
        return self._product(rhs, adjoint)
