# SPDX-License-Identifier: Apache-2.0
"""tw.linalg: matrices. What is one operation is found by names."""
from thalweg.base import names

names.complete(globals(), {
    "linalg.combined_operators": "LinearOperatorBlockDiag LinearOperatorCirculant LinearOperatorCirculant2D "
                                 "LinearOperatorCirculant3D LinearOperatorKronecker LinearOperatorLowRankUpdate "
                                 "LinearOperatorToeplitz",
    "linalg.linear_operator": "LinearOperator LinearOperatorAdjoint LinearOperatorComposition LinearOperatorInversion "
                              "LinearOperatorLowerTriangular",
    "linalg.linear_operators": "LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorHouseholder "
                               "LinearOperatorIdentity LinearOperatorScaledIdentity LinearOperatorZeros",
    "linalg.matrices": "adjoint cholesky_solve eigh eigvalsh einsum expm eye logdet lstsq matrix_solve_ls "
                       "matvec norm normalize self_adjoint_eig self_adjoint_eigvals slogdet svd trace",
    "linalg.singular_values": "matrix_rank pinv",
    "linalg.tridiagonal": "tridiagonal_matmul tridiagonal_solve"})
