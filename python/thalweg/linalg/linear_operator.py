# SPDX-License-Identifier: Apache-2.0
"""LinearOperator: a matrix by what it is made of; its adjoint, inverse and products. A kind gives `_to_dense()`, and better ways of its own
where it has them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import dimension_at_index
from thalweg.linalg import matrices
from thalweg.operations import array_ops, checks, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.shapes import Dimension, TensorShape
    from thalweg.graph.tensor import Operation, Tensor

_HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")


class LinearOperator:
    """[..., rows, columns]: matmul, solve, determinant and the like."""

    def _name_scope(self, name=None, values=None):
        """The scope of a method's operations, for classes that programs derive."""
        return name_scope(f"{self.name}/{name}" if name else self.name)

    def _check_input_dtype(self, arg):
        if arg.dtype.base_dtype is not self.dtype.base_dtype:
            raise TypeError(f"Expected argument to have dtype {self.dtype}. Found: {arg.dtype} in tensor {arg}")

    def __init__(self, dtype: DTypeLike, graph_parents: Sequence[Tensor] | None = None, is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool | None = None,
                 name: str | None = None) -> None:
        if is_positive_definite and is_non_singular is False:
            raise ValueError("A positive definite matrix is always non-singular.")
        if is_positive_definite:
            is_non_singular = True
        for hint in ("is_non_singular", "is_self_adjoint"):
            if locals()[hint]:
                if is_square is False:
                    raise ValueError(f"A {'non-singular' if hint == 'is_non_singular' else 'self-adjoint'} matrix is always square.")
                is_square = True
        self._dtype, self.name = dtypes.as_dtype(dtype).base_dtype, name or type(self).__name__
        self.is_non_singular, self.is_self_adjoint = is_non_singular, is_self_adjoint
        self.is_positive_definite, self._is_square = is_positive_definite, is_square

    @property
    def dtype(self) -> DType: return self._dtype
    @property
    def shape(self) -> TensorShape: return self._to_dense().shape
    @property
    def batch_shape(self) -> TensorShape: return self.shape[:-2]
    @property
    def tensor_rank(self) -> int | None: return self.shape.ndims
    @property
    def domain_dimension(self) -> Dimension: return dimension_at_index(self.shape, -1)
    @property
    def range_dimension(self) -> Dimension: return dimension_at_index(self.shape, -2)
    @property
    def graph_parents(self) -> list[Tensor]: return []

    @property
    def is_square(self) -> bool | None:
        if self.domain_dimension.value is None or self.range_dimension.value is None:
            return self._is_square
        return self.domain_dimension.value == self.range_dimension.value

    def _to_dense(self):
        raise NotImplementedError(f"{type(self).__name__} has no _to_dense")

    def _needs_square(self, purpose):
        if self.is_square is False:
            raise NotImplementedError(f"{purpose} not implemented for an operator that is expected to not be square.")

    # ---- shapes as tensors ----
    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        return array_ops.shape(self._to_dense(), name=name)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        return array_ops.rank(self._to_dense(), name=name)

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        return self.shape_tensor()[-2]

    # ---- products and solutions ----
    def matmul(self, x: TensorLike | LinearOperator, adjoint: bool = False, adjoint_arg: bool = False,
               name: str = "matmul") -> Any:
        """The product with matrices, or with another operator."""
        if isinstance(x, LinearOperator):
            left, right = (self.adjoint() if adjoint else self), (x.adjoint() if adjoint_arg else x)
            if left.domain_dimension.value != right.range_dimension.value:
                raise ValueError("Operators are incompatible. Expected `x` to have dimension "
                                 f"{left.domain_dimension} but got {right.range_dimension}.")
            return LinearOperatorComposition([left, right])
        with name_scope(name):
            x = matrices.adjoint(x) if adjoint_arg else convert_to_tensor(x, dtype=self.dtype, name="x")
            wanted = self.range_dimension if adjoint else self.domain_dimension
            wanted.assert_is_compatible_with(x.shape[-2])
            return self._matmul(x, adjoint=adjoint)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        """The product with a tensor: classes that programs derive call it, or have their own."""
        return self._product(matrices.adjoint(x) if adjoint_arg else x, adjoint)

    def _product(self, x, adjoint):
        return _batched(math_ops.matmul, self._to_dense(), x, adjoint_a=adjoint)

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The product with vectors."""
        with name_scope(name):
            column = array_ops.expand_dims(convert_to_tensor(x, dtype=self.dtype), -1)
            return array_ops.squeeze(self.matmul(column, adjoint), [-1])

    def solve(self, rhs: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Tensor:
        """The x of operator x = rhs."""
        if self.is_non_singular is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular.")
        self._needs_square("Exact solve")
        with name_scope(name):
            rhs = matrices.adjoint(rhs) if adjoint_arg else convert_to_tensor(rhs, dtype=self.dtype, name="rhs")
            self.range_dimension.assert_is_compatible_with(rhs.shape[-2])
            return self._solution(rhs, adjoint)

    def _solution(self, rhs, adjoint):
        def by_matrix(matrix, rhs):
            return apply("MatrixSolve", [matrix, rhs], {"adjoint": adjoint})
        return _batched(by_matrix, self._to_dense(), rhs)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Tensor:
        """The vectors x of operator x = rhs."""
        with name_scope(name):
            column = array_ops.expand_dims(convert_to_tensor(rhs, dtype=self.dtype), -1)
            return array_ops.squeeze(self.solve(column, adjoint), [-1])

    # ---- numbers ----
    def determinant(self, name: str = "det") -> Tensor:
        """The determinant of each matrix."""
        self._needs_square("Determinant")
        return apply("MatrixDeterminant", [self._to_dense()], name=name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the absolute value of each determinant."""
        self._needs_square("Determinant")
        return apply("LogMatrixDeterminant", [self._to_dense()], name=name)[1]

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonal of each matrix."""
        return apply("MatrixDiagPart", [self._to_dense()], name=name)

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of each diagonal."""
        return math_ops.reduce_sum(self.diag_part(), -1, name=name)

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrices as a tensor."""
        return array_ops.identity(self._to_dense(), name=name)

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The matrices plus a tensor."""
        return apply("Add", [convert_to_tensor(x, dtype=self.dtype), self._to_dense()], name=name)

    # ---- other operators ----
    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The conjugate transpose: itself when it is self-adjoint."""
        return self if self.is_self_adjoint else LinearOperatorAdjoint(self)

    @property
    def H(self) -> LinearOperator: return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator of the inverse matrices."""
        self._needs_square("Inverse")
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular linear operator.")
        return LinearOperatorInversion(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The operator of the lower triangular factors."""
        if not self.is_positive_definite or not self.is_self_adjoint:
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        return LinearOperatorLowerTriangular(apply("Cholesky", [self._to_dense()]), is_non_singular=True)

    # ---- checks ----
    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """Fails where the determinant is 0."""
        return checks.assert_none_equal(self.determinant(), math_ops.cast(0.0, self.dtype), message="Singular matrix encountered")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        return checks.assert_positive(matrices.self_adjoint_eigvals(self._to_dense()), message="Operator was not positive definite.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        dense = self._to_dense()
        return checks.assert_equal(dense, matrices.adjoint(dense), message="Matrix was not equal to its adjoint.")


def _batched(function, matrix, x, **arguments):
    """The function of both with the leading dimensions of each."""
    if matrix.shape.ndims is not None and matrix.shape.ndims == x.shape.ndims and matrix.shape.ndims > 2 and \
            not matrix.shape[:-2] == x.shape[:-2] or matrix.shape.ndims != x.shape.ndims:
        batch = apply("BroadcastArgs", [array_ops.shape(matrix)[:-2], array_ops.shape(x)[:-2]])
        matrix, x = (array_ops.broadcast_to(t, array_ops.concat([batch, array_ops.shape(t)[-2:]], 0)) for t in (matrix, x))
    return function(matrix, x, **arguments)


def _hints(arguments):
    return {hint: arguments[hint] for hint in _HINTS}


class LinearOperatorLowerTriangular(LinearOperator):
    """What a matrix has on and below its diagonal."""

    def __init__(self, tril: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None,
                 name: str = "LinearOperatorLowerTriangular") -> None:
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        hints = {**_hints(locals()), "is_square": True}
        self._tril = convert_to_tensor(tril, name="tril")
        super().__init__(self._tril.dtype, name=name, **hints)

    def _to_dense(self):
        return apply("MatrixBandPart", [self._tril, -1, 0])

    def _solution(self, rhs, adjoint):
        return _batched(lambda m, r: apply("MatrixTriangularSolve", [m, r], {"lower": True, "adjoint": adjoint}), self._to_dense(),
                        rhs)

    def determinant(self, name: str = "det") -> Tensor:
        return math_ops.reduce_prod(self.diag_part(), [-1], name=name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return math_ops.reduce_sum(apply("Log", [apply("Abs", [self.diag_part()])]), [-1], name=name)


class LinearOperatorAdjoint(LinearOperator):
    """The conjugate transpose of another."""

    def __init__(self, operator: LinearOperator, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None) -> None:
        hints = {k: getattr(operator, k) if v is None else v for k, v in _hints(locals()).items()}
        self._operator = operator
        super().__init__(operator.dtype, name=name or operator.name + "_adjoint", **hints)

    @property
    def operator(self) -> LinearOperator: return self._operator

    def _to_dense(self):
        return matrices.adjoint(self._operator._to_dense())

    def _product(self, x, adjoint):
        return self._operator._product(x, not adjoint)

    def _solution(self, rhs, adjoint):
        return self._operator._solution(rhs, not adjoint)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        return self._operator


class LinearOperatorInversion(LinearOperator):
    """The inverse of another."""

    def __init__(self, operator: LinearOperator, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None) -> None:
        hints = {k: getattr(operator, k) if v is None else v for k, v in _hints(locals()).items()}
        if operator.is_non_singular is False or hints["is_non_singular"] is False:
            raise ValueError("operator and supplied hints must have is_non_singular=True or None")
        self._operator = operator
        super().__init__(operator.dtype, name=name or operator.name + "_inv", **{**hints, "is_non_singular": True})

    @property
    def operator(self) -> LinearOperator: return self._operator

    def _to_dense(self):
        return apply("MatrixInverse", [self._operator._to_dense()])

    def _product(self, x, adjoint):
        return self._operator._solution(x, adjoint)

    def _solution(self, rhs, adjoint):
        return self._operator._product(rhs, adjoint)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        return self._operator


class _OfOperators(LinearOperator):
    """What is made of a list of operators."""

    _joint = "_o_"

    def __init__(self, operators: Sequence[LinearOperator], is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool | None = None,
                 name: str | None = None) -> None:
        hints = _hints(locals())
        self._operators = list(operators or [])
        if not self._operators:
            raise ValueError(f"Expected a non-empty list of operators. Found: {operators}")
        dtype = self._operators[0].dtype
        if any(o.dtype is not dtype for o in self._operators):
            raise TypeError(f"Expected all operators to have the same dtype. Found {[(o.name, o.dtype.name) for o in operators]}")
        if hints["is_non_singular"] is None and all(o.is_non_singular for o in self._operators):
            hints["is_non_singular"] = True
        self._check()
        super().__init__(dtype, name=name or self._joint.join(o.name for o in self._operators), **hints)

    @property
    def operators(self) -> list[LinearOperator]: return self._operators

    def _check(self):
        pass


class LinearOperatorComposition(_OfOperators):
    """The product of operators."""

    def _check(self):
        for left, right in zip(self._operators, self._operators[1:]):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)

    def _to_dense(self):
        made = self._operators[-1]._to_dense()
        for operator in reversed(self._operators[:-1]):
            made = operator._product(made, False)
        return made

    def _product(self, x, adjoint):
        for operator in self._operators if adjoint else reversed(self._operators):
            x = operator._product(x, adjoint)
        return x

    def _solution(self, rhs, adjoint):
        for operator in reversed(self._operators) if adjoint else self._operators:
            rhs = operator._solution(rhs, adjoint)
        return rhs
