# SPDX-License-Identifier: Apache-2.0
"""Cases of linear operators: see symbol_cases.py."""
import numpy as np
from symbol_cases import CASES, fails, numbers

M = np.array([[4, 1, 0.5], [1, 3, 0.2], [0.3, 0.2, 2]], np.float32)
S = (M + M.T).astype(np.float32)
X, V = numbers(3, 2), numbers(3, start=1)


def operator(name, make, x=X, v=V, solves=True, square=True):
    def build(tf):
        o = make(tf)
        found = [o.to_dense(), o.matmul(tf.constant(x)), o.matvec(tf.constant(v)), str(o.shape), str(o.batch_shape), o.shape_tensor(),
                 str(o.domain_dimension), str(o.range_dimension), str(o.tensor_rank), o.dtype.name, str(o.is_square), o.adjoint(
                     ).to_dense()]
        if square:
            found += [o.diag_part(), o.trace(), o.determinant(), o.matmul(tf.constant(x), adjoint=True)]
        if solves:
            found += [o.solve(tf.constant(x)), o.solvevec(tf.constant(v)), o.log_abs_determinant(), o.solve(
                tf.constant(x), adjoint=True), o.inverse().to_dense()]
        return found
    CASES["linalg__" + name] = build


operator("LinearOperatorFullMatrix", lambda tf: tf.linalg.LinearOperatorFullMatrix(M))
operator("LinearOperatorFullMatrix___of_a_batch", lambda tf: tf.linalg.LinearOperatorFullMatrix(np.stack([M, S])),
         np.stack([X, X + 1]), np.stack([V, V + 1]))
operator("LinearOperatorFullMatrix___not_square", lambda tf: tf.linalg.LinearOperatorFullMatrix(M[:2]), solves=False, square=False)
operator("LinearOperatorDiag", lambda tf: tf.linalg.LinearOperatorDiag([2.0, -1.0, 0.5]))
operator("LinearOperatorLowerTriangular", lambda tf: tf.linalg.LinearOperatorLowerTriangular(M))
operator("LinearOperatorIdentity", lambda tf: tf.linalg.LinearOperatorIdentity(3))
operator("LinearOperatorScaledIdentity", lambda tf: tf.linalg.LinearOperatorScaledIdentity(3, 2.5))
operator("LinearOperatorZeros", lambda tf: tf.linalg.LinearOperatorZeros(3), solves=False)
operator("LinearOperatorHouseholder", lambda tf: tf.linalg.LinearOperatorHouseholder([1.0, 2.0, 2.0]))
operator("LinearOperatorComposition", lambda tf: tf.linalg.LinearOperatorComposition([
    tf.linalg.LinearOperatorFullMatrix(M), tf.linalg.LinearOperatorDiag([2.0, 3.0, 4.0])]))
operator("LinearOperatorAdjoint", lambda tf: tf.linalg.LinearOperatorAdjoint(tf.linalg.LinearOperatorFullMatrix(M)))
operator("LinearOperatorInversion", lambda tf: tf.linalg.LinearOperatorInversion(tf.linalg.LinearOperatorFullMatrix(M)))
operator("LinearOperatorLowRankUpdate", lambda tf: tf.linalg.LinearOperatorLowRankUpdate(
    tf.linalg.LinearOperatorDiag([2.0, 3.0, 4.0], is_positive_definite=True), X, diag_update=[0.5, 2.0],
    is_diag_update_positive=True))
operator("LinearOperatorToeplitz", lambda tf: tf.linalg.LinearOperatorToeplitz([4.0, 2.0, 3.0], [4.0, -1.0, 0.5]))
operator("LinearOperatorKronecker", lambda tf: tf.linalg.LinearOperatorKronecker([tf.linalg.LinearOperatorFullMatrix(
    M[:2, :2]), tf.linalg.LinearOperatorFullMatrix(M)]), numbers(6, 2), numbers(6), solves=False)
operator("LinearOperatorBlockDiag", lambda tf: tf.linalg.LinearOperatorBlockDiag([tf.linalg.LinearOperatorFullMatrix(
    M[:2, :2]), tf.linalg.LinearOperatorFullMatrix(M)]), numbers(5, 2), numbers(5), solves=False)
operator("LinearOperatorCirculant", lambda tf: tf.linalg.LinearOperatorCirculant(tf.constant([6.0, 4.0, 2.0]), tf.complex64),
         X.astype(np.complex64), V.astype(np.complex64), solves=False)


def combined(tf):
    a, b = tf.linalg.LinearOperatorFullMatrix(M), tf.linalg.LinearOperatorDiag([1.0, 2.0, 3.0])
    spd = tf.linalg.LinearOperatorFullMatrix(S, is_self_adjoint=True, is_positive_definite=True)
    L = tf.linalg  # noqa: N806
    return [a.matmul(b).to_dense(), spd.cholesky().to_dense(), str(spd.is_non_singular), str(spd.is_square), a.add_to_tensor(
        tf.constant(M)), fails(tf, lambda: a.cholesky()), fails(tf, lambda: L.LinearOperatorZeros(3).inverse()), fails(
            tf, lambda: L.LinearOperatorFullMatrix([1.0, 2.0])), fails(tf, lambda: L.LinearOperatorDiag(
                [1.0], is_self_adjoint=False)), fails(tf, lambda: a.matmul(tf.constant(numbers(2, 2)))), fails(
                    tf, lambda: L.LinearOperatorComposition([])), fails(tf, lambda: L.LinearOperatorFullMatrix(M[:2]).determinant()),
            fails(tf, lambda: a.assert_self_adjoint()), fails(tf, lambda: a.assert_non_singular())]


CASES["linalg__LinearOperator"] = combined
