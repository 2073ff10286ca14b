// SPDX-License-Identifier: Apache-2.0
// The kernels of linalg.h in groups, within libthalweg_linalg.so; each group is compiled once per
// element type. Private to compute/linalg.
// Ownership: the matrices are the caller's.
// Threads: any; a kernel uses the caller's alone.
// Errors: a LinalgResult, as linalg.h says of each.
#pragma once

#include <complex>

#include "thalweg/compute/linalg/linalg.h"

namespace thalweg::compute {

template <class T>
struct Factor {
  static LinalgResult Cholesky(int64_t n, const void* a, void* l);
  static LinalgResult CholeskyGradient(int64_t n, const void* l, const void* grad, void* out);
  static LinalgResult Lu(int64_t n, const void* a, void* lu, int64_t* p);
  static LinalgResult Determinant(int64_t n, const void* a, void* out);
  static LinalgResult LogDeterminant(int64_t n, const void* a, void* sign, void* log_abs);
  static LinalgResult Inverse(int64_t n, const void* a, bool adjoint, void* out);
  static LinalgResult Solve(int64_t n, int64_t k, const void* a, const void* rhs, bool adjoint,
                            void* out);
  static LinalgResult TriangularSolve(int64_t n, int64_t k, const void* a, const void* rhs,
                                      bool lower, bool adjoint, void* out);
  // Of a matrix with elements.
  static LinalgResult NormalEquations(int64_t m, int64_t n, int64_t k, const void* a,
                                      const void* rhs, double l2, void* out);
};

template <class T>
struct Orthogonal {
  static LinalgResult LeastSquares(int64_t m, int64_t n, int64_t k, const void* a, const void* rhs,
                                   double l2, bool fast, void* out);
  static LinalgResult Qr(int64_t m, int64_t n, const void* a, bool full, void* q, void* r);
};

template <class T>
struct Singular {
  static LinalgResult Svd(int64_t m, int64_t n, const void* a, bool full, void* s, void* u,
                          void* v);
};

template <class T>
struct Spectral {
  static LinalgResult SelfAdjointEigen(int64_t n, const void* a, void* e, void* v);
  static LinalgResult Eigen(int64_t n, const void* a, void* e, void* v);
};

template <class T>
struct Function {
  static LinalgResult SquareRoot(int64_t n, const void* a, void* out);
  static LinalgResult Exponential(int64_t n, const void* a, void* out);
  static LinalgResult Logarithm(int64_t n, const void* a, void* out);
};

struct Ordering {
  static LinalgResult MinimumDegree(int32_t n, const int32_t* starts, const int32_t* columns,
                                    int32_t* order);
};

}  // namespace thalweg::compute
