# SPDX-License-Identifier: Apache-2.0
"""LinearOperator: matrices by what they are made of. A kind gives `_matrix()`, and better ways of its own where it has them."""
from thalweg import array_ops, dtypes, linalg, math_ops
from thalweg.graph import name_scope
from thalweg.ops import apply, convert_to_tensor

_HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")


class LinearOperator:
    """[..., rows, columns]: matmul, solve, determinant and the like."""

    def __init__(self, dtype, graph_parents=None, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
                 is_square=None, name=None):
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

    dtype = property(lambda self: self._dtype)
    shape = property(lambda self: self._matrix().shape)
    batch_shape = property(lambda self: self.shape[:-2])
    tensor_rank = property(lambda self: self.shape.ndims)
    domain_dimension = property(lambda self: self.shape[-1])
    range_dimension = property(lambda self: self.shape[-2])
    graph_parents = property(lambda self: [])

    @property
    def is_square(self):
        if self.domain_dimension.value is None or self.range_dimension.value is None:
            return self._is_square
        return self.domain_dimension.value == self.range_dimension.value

    def _matrix(self):
        raise NotImplementedError(f"{type(self).__name__} has no _matrix")

    def _needs_square(self, purpose):
        if self.is_square is False:
            raise NotImplementedError(f"{purpose} not implemented for an operator that is expected to not be square.")

    # ---- shapes as tensors ----
    def shape_tensor(self, name="shape_tensor"):
        return array_ops.shape(self._matrix(), name=name)

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name="tensor_rank_tensor"):
        return array_ops.rank(self._matrix(), name=name)

    def domain_dimension_tensor(self, name="domain_dimension_tensor"):
        return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name="range_dimension_tensor"):
        return self.shape_tensor()[-2]

    # ---- products and solutions ----
    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        """The product with matrices, or with another operator."""
        if isinstance(x, LinearOperator):
            left, right = (self.adjoint() if adjoint else self), (x.adjoint() if adjoint_arg else x)
            if left.domain_dimension.value != right.range_dimension.value:
                raise ValueError("Operators are incompatible. Expected `x` to have dimension "
                                 f"{left.domain_dimension} but got {right.range_dimension}.")
            return _combined().LinearOperatorComposition([left, right])
        with name_scope(name):
            x = linalg.adjoint(x) if adjoint_arg else convert_to_tensor(x, dtype=self.dtype, name="x")
            wanted = self.range_dimension if adjoint else self.domain_dimension
            wanted.assert_is_compatible_with(x.shape[-2])
            return self._product(x, adjoint)

    def _product(self, x, adjoint):
        return _batched(math_ops.matmul, self._matrix(), x, adjoint_a=adjoint)

    def matvec(self, x, adjoint=False, name="matvec"):
        """The product with vectors."""
        with name_scope(name):
            column = array_ops.expand_dims(convert_to_tensor(x, dtype=self.dtype), -1)
            return array_ops.squeeze(self.matmul(column, adjoint), [-1])

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        """The x of operator x = rhs."""
        if self.is_non_singular is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular.")
        self._needs_square("Exact solve")
        with name_scope(name):
            rhs = linalg.adjoint(rhs) if adjoint_arg else convert_to_tensor(rhs, dtype=self.dtype, name="rhs")
            self.range_dimension.assert_is_compatible_with(rhs.shape[-2])
            return self._solution(rhs, adjoint)

    def _solution(self, rhs, adjoint):
        def by_matrix(matrix, rhs):
            return apply("MatrixSolve", [matrix, rhs], {"adjoint": adjoint})
        return _batched(by_matrix, self._matrix(), rhs)

    def solvevec(self, rhs, adjoint=False, name="solve"):
        """The vectors x of operator x = rhs."""
        with name_scope(name):
            column = array_ops.expand_dims(convert_to_tensor(rhs, dtype=self.dtype), -1)
            return array_ops.squeeze(self.solve(column, adjoint), [-1])

    # ---- numbers ----
    def determinant(self, name="det"):
        self._needs_square("Determinant")
        return apply("MatrixDeterminant", [self._matrix()], name=name)

    def log_abs_determinant(self, name="log_abs_det"):
        self._needs_square("Determinant")
        return apply("LogMatrixDeterminant", [self._matrix()], name=name)[1]

    def diag_part(self, name="diag_part"):
        return apply("MatrixDiagPart", [self._matrix()], name=name)

    def trace(self, name="trace"):
        return math_ops.reduce_sum(self.diag_part(), -1, name=name)

    def to_dense(self, name="to_dense"):
        return array_ops.identity(self._matrix(), name=name)

    def add_to_tensor(self, x, name="add_to_tensor"):
        return apply("Add", [convert_to_tensor(x, dtype=self.dtype), self._matrix()], name=name)

    # ---- other operators ----
    def adjoint(self, name="adjoint"):
        """The conjugate transpose: itself when it is self-adjoint."""
        return self if self.is_self_adjoint else _combined().LinearOperatorAdjoint(self)

    H = property(lambda self: self.adjoint())

    def inverse(self, name="inverse"):
        self._needs_square("Inverse")
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular linear operator.")
        return _combined().LinearOperatorInversion(self)

    def cholesky(self, name="cholesky"):
        if not self.is_positive_definite or not self.is_self_adjoint:
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        return LinearOperatorLowerTriangular(apply("Cholesky", [self._matrix()]), is_non_singular=True)

    # ---- checks ----
    def assert_non_singular(self, name="assert_non_singular"):
        """Fails where the determinant is 0."""
        from thalweg import checks
        return checks.assert_none_equal(self.determinant(), math_ops.cast(0.0, self.dtype), message="Singular matrix encountered")

    def assert_positive_definite(self, name="assert_positive_definite"):
        from thalweg import checks
        return checks.assert_positive(linalg.self_adjoint_eigvals(self._matrix()), message="Operator was not positive definite.")

    def assert_self_adjoint(self, name="assert_self_adjoint"):
        from thalweg import checks
        dense = self._matrix()
        return checks.assert_equal(dense, linalg.adjoint(dense), message="Matrix was not equal to its adjoint.")


def _combined():
    from thalweg import linear_operators_combined
    return linear_operators_combined


def _batched(function, matrix, x, **arguments):
    """The function of both with the leading dimensions of each."""
    if matrix.shape.ndims is not None and matrix.shape.ndims == x.shape.ndims and matrix.shape.ndims > 2 and \
            not matrix.shape[:-2] == x.shape[:-2] or matrix.shape.ndims != x.shape.ndims:
        batch = apply("BroadcastArgs", [array_ops.shape(matrix)[:-2], array_ops.shape(x)[:-2]])
        matrix, x = (array_ops.broadcast_to(t, array_ops.concat([batch, array_ops.shape(t)[-2:]], 0)) for t in (matrix, x))
    return function(matrix, x, **arguments)


def _hints(arguments):
    return {hint: arguments[hint] for hint in _HINTS}


class LinearOperatorFullMatrix(LinearOperator):
    """A matrix as it is."""

    def __init__(self, matrix, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorFullMatrix"):
        hints = _hints(locals())
        self._given = convert_to_tensor(matrix, name="matrix")
        if self._given.shape.ndims is not None and self._given.shape.ndims < 2:
            raise ValueError(f"Argument matrix must have at least 2 dimensions.  Found: {self._given}")
        super().__init__(self._given.dtype, name=name, **hints)

    def _matrix(self):
        return self._given


class LinearOperatorLowerTriangular(LinearOperator):
    """What a matrix has on and below its diagonal."""

    def __init__(self, tril, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorLowerTriangular"):
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        hints = {**_hints(locals()), "is_square": True}
        self._given = convert_to_tensor(tril, name="tril")
        super().__init__(self._given.dtype, name=name, **hints)

    def _matrix(self):
        return apply("MatrixBandPart", [self._given, -1, 0])

    def _solution(self, rhs, adjoint):
        return _batched(lambda m, r: apply("MatrixTriangularSolve", [m, r], {"lower": True, "adjoint": adjoint}), self._matrix(),
                        rhs)

    def determinant(self, name="det"):
        return math_ops.reduce_prod(self.diag_part(), [-1], name=name)

    def log_abs_determinant(self, name="log_abs_det"):
        return math_ops.reduce_sum(apply("Log", [apply("Abs", [self.diag_part()])]), [-1], name=name)


class LinearOperatorDiag(LinearOperator):
    """A diagonal, zeros elsewhere."""

    def __init__(self, diag, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorDiag"):
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        self.diag = convert_to_tensor(diag, name="diag")
        if not self.diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        hints = {**_hints(locals()), "is_square": True}
        super().__init__(self.diag.dtype, name=name, **hints)

    def _matrix(self):
        return apply("MatrixDiag", [self.diag])

    def _product(self, x, adjoint):
        return array_ops.expand_dims(linalg._conjugate(self.diag) if adjoint else self.diag, -1) * x

    def _solution(self, rhs, adjoint):
        return rhs / array_ops.expand_dims(linalg._conjugate(self.diag) if adjoint else self.diag, -1)

    def determinant(self, name="det"):
        return math_ops.reduce_prod(self.diag, [-1], name=name)

    def log_abs_determinant(self, name="log_abs_det"):
        size = apply("ComplexAbs", [self.diag]) if self.dtype.is_complex else apply("Abs", [self.diag])
        return math_ops.reduce_sum(apply("Log", [size]), [-1], name=name)

    def diag_part(self, name="diag_part"):
        return array_ops.identity(self.diag, name=name)


class LinearOperatorIdentity(LinearOperator):
    """Ones on the diagonal."""

    def __init__(self, num_rows, batch_shape=None, dtype=None, is_non_singular=True, is_self_adjoint=True,
                 is_positive_definite=True, is_square=True, assert_proper_shapes=False, name="LinearOperatorIdentity"):
        if not is_non_singular or not is_self_adjoint or not is_positive_definite or not is_square:
            raise ValueError("An identity operator is always non-singular, self-adjoint, positive definite and square.")
        hints = _hints(locals())
        self._rows, self._batch = num_rows, batch_shape
        super().__init__(dtype or dtypes.float32, name=name, **hints)

    def _matrix(self):
        return linalg.eye(self._rows, batch_shape=self._batch, dtype=self.dtype)

    def _product(self, x, adjoint):
        return array_ops.identity(x) if self._batch is None else super()._product(x, adjoint)

    def _solution(self, rhs, adjoint):
        return self._product(rhs, adjoint)


class LinearOperatorScaledIdentity(LinearOperator):
    """One number on the diagonal."""

    def __init__(self, num_rows, multiplier, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=True,
                 assert_proper_shapes=False, name="LinearOperatorScaledIdentity"):
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        self._multiplier, self._rows = convert_to_tensor(multiplier, name="multiplier"), num_rows
        if not self._multiplier.dtype.is_complex:
            is_self_adjoint = True
        hints = _hints(locals())
        super().__init__(self._multiplier.dtype, name=name, **hints)

    multiplier = property(lambda self: self._multiplier)

    def _matrix(self):
        return linalg.eye(self._rows, batch_shape=array_ops.shape(self._multiplier), dtype=self.dtype) * array_ops.reshape(
            self._multiplier, array_ops.concat([array_ops.shape(self._multiplier), [1, 1]], 0))


class LinearOperatorZeros(LinearOperator):
    """Nothing but zeros."""

    def __init__(self, num_rows, num_columns=None, batch_shape=None, dtype=None, is_non_singular=False, is_self_adjoint=True,
                 is_positive_definite=False, is_square=True, assert_proper_shapes=False, name="LinearOperatorZeros"):
        if is_non_singular or is_positive_definite:
            raise ValueError("A zero operator is singular.")
        hints = _hints(locals())
        if num_columns is not None and num_columns != num_rows:
            hints.update(is_self_adjoint=None, is_square=False)
        self._sizes = [*(batch_shape or []), num_rows, num_rows if num_columns is None else num_columns]
        super().__init__(dtype or dtypes.float32, name=name, **hints)

    def _matrix(self):
        return array_ops.zeros(self._sizes, self.dtype)

    def determinant(self, name="det"):
        return array_ops.zeros(self._sizes[:-2], self.dtype, name=name)


class LinearOperatorHouseholder(LinearOperator):
    """The reflection at the plane to which the axis is at right angles."""

    def __init__(self, reflection_axis, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorHouseholder"):
        if is_square is False or is_self_adjoint is False or is_positive_definite or is_non_singular is False:
            raise ValueError("A Householder operator is always square, non-singular, self-adjoint and not positive definite.")
        self.reflection_axis = convert_to_tensor(reflection_axis, name="reflection_axis")
        super().__init__(self.reflection_axis.dtype, None, True, True, False, True, name)

    def _matrix(self):
        axis, _ = linalg.normalize(self.reflection_axis, axis=-1)
        column = array_ops.expand_dims(axis, -1)
        return linalg.eye(self.reflection_axis.shape[-1].value, dtype=self.dtype) - 2 * math_ops.matmul(column, column,
                                                                                                      adjoint_b=True)

    def _solution(self, rhs, adjoint):
        return self._product(rhs, adjoint)
