# SPDX-License-Identifier: Apache-2.0
"""Factorizations and solvers, on matrices that have one answer."""
import numpy as np
from cases import Fed, case, num

RANDOM = np.random.RandomState(4)
A = RANDOM.uniform(-1, 1, (2, 3, 3)) + 3 * np.eye(3)
SPD = Fed(A @ A.transpose(0, 2, 1))
SYMMETRIC, SQUARE, TALL = Fed(A + A.transpose(0, 2, 1)), Fed(A), Fed(RANDOM.uniform(-1, 1, (2, 4, 3)))
LOWER = Fed(np.tril(A))
CASES = []
for p in ("", "Batch"):
    CASES += [case(f"{p}Cholesky", SPD), case(f"{p}CholeskyGrad", Fed(np.linalg.cholesky(A @ A.transpose(0, 2, 1))), num(2, 3, 3)), case(f"{p}MatrixDeterminant", SQUARE), case(f"{p}MatrixInverse", SQUARE), case(f"{p}MatrixInverse", SQUARE, adjoint=True), case(f"{p}MatrixSolve", SQUARE, num(2, 3, 2)), case(f"{p}MatrixSolve", SQUARE, num(2, 3, 2), adjoint=True),
              case(f"{p}MatrixTriangularSolve", LOWER, num(2, 3, 2)), case(f"{p}MatrixTriangularSolve", LOWER, num(2, 3, 2), adjoint=True), case(f"{p}SelfAdjointEigV2", SYMMETRIC, options=("signs",)), case(f"{p}Svd", TALL, options=("signs",)), case(f"{p}SelfAdjointEigV2", SYMMETRIC, compute_v=False), case(f"{p}Svd", TALL, compute_uv=False), case(f"{p}MatrixSolveLs", TALL, num(2, 4, 2), 0.1), case(f"{p}MatrixSolveLs", TALL, num(2, 4, 2), 0.0, fast=False)]
BANDS = Fed([[[4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0]], [[3.0, 3.0, 4.0, 4.0], [0.0, -1.0, 1.0, 2.0]]])
CASES += [case("BandedTriangularSolve", BANDS, num(2, 4, 3)), case("BandedTriangularSolve", BANDS, num(2, 4, 3), adjoint=True), case("BandedTriangularSolve", Fed([[0.0, 1.0, 2.0], [4.0, 5.0, 6.0]]), num(3, 2), lower=False)]
CASES += [case("Cholesky", Fed(-np.eye(2))), case("MatrixInverse", Fed(np.zeros((2, 2)))), case("MatrixSolve", Fed(np.zeros((2, 2))), num(2, 1)), case("MatrixTriangularSolve", Fed(np.zeros((2, 2))), num(2, 1)), case("LogMatrixDeterminant", SQUARE), case("Lu", SQUARE), case("MatrixExponential", SQUARE), case("MatrixSquareRoot", SPD), case("MatrixLogarithm", SPD),
          case("Eig", SYMMETRIC, options=("signs",)), case("Eig", SQUARE, compute_v=False, options=("sorted",)), case("TridiagonalSolve", Fed([[[1, 1, 0.0], [4, 5, 6], [0, 1, 1]]]), num(1, 3, 2)), case("Qr", SQUARE, options=("loose",)), case("SelfAdjointEig", Fed((A + A.transpose(0, 2, 1))[0]), options=("signs",)), case("Cholesky", num(2, 3)), case("MatrixInverse", num(2, 3)), case("BatchSelfAdjointEig", SYMMETRIC, options=("signs",))]
