// SPDX-License-Identifier: Apache-2.0
// Dense linear algebra on single row-major matrices, by element type.
//
//   const LinalgKernels* kernels = LinalgKernelsOf(DType::kFloat);
//   LinalgResult result = kernels->cholesky(n, a, l);
//
// Types: float, double, complex64, complex128; null for any other. Matrices do not overlap and may
// be empty. A kernel leaves its outputs undefined unless it returns kOk. Nothing is thrown.
// Temporaries are a small multiple of the matrices and come from the heap.
// Ownership: the matrices are the caller's; the table is static.
// Threads: any; a kernel uses the caller's alone, and ends early (kCancelled) where an Interruption
// of that thread says so. Decompositions are those of Eigen 3.4.
// Errors: a LinalgResult: kFailed as each kernel says, kOutOfMemory, kCancelled, kNotThere without
// the component.
#pragma once

#include <cstdint>

namespace thalweg {
enum class DType : uint8_t;  // tensor/dtype.h
}

namespace thalweg::compute {

// kNotThere, of every kernel: there is no libthalweg_linalg.so, in which they are.
enum class LinalgResult : uint8_t { kOk, kFailed, kOutOfMemory, kCancelled, kNotThere };

struct LinalgKernels {
  // a = l l^H from the lower part of a; kFailed: not positive definite.
  LinalgResult (*cholesky)(int64_t n, const void* a, void* l);
  // Gradient of `a` (self-adjoint) from that of l.
  LinalgResult (*cholesky_gradient)(int64_t n, const void* l, const void* grad, void* out);
  // p a = l u, both in one matrix; row i of p a is row p[i] of a. kFailed: not invertible.
  LinalgResult (*lu)(int64_t n, const void* a, void* lu, int64_t* p);
  LinalgResult (*determinant)(int64_t n, const void* a, void* out);
  // Sign (of absolute value 1, or 0) and logarithm of the absolute value, both of the type of `a`.
  LinalgResult (*log_determinant)(int64_t n, const void* a, void* sign, void* log_abs);
  // They take a^H when `adjoint`; kFailed: it is not invertible. `solve`: right-hand sides [n, k].
  LinalgResult (*inverse)(int64_t n, const void* a, bool adjoint, void* out);
  LinalgResult (*solve)(int64_t n, int64_t k, const void* a, const void* rhs, bool adjoint,
                        void* out);
  // Division by a zero of the diagonal is not an error.
  LinalgResult (*triangular_solve)(int64_t n, int64_t k, const void* a, const void* rhs, bool lower,
                                   bool adjoint, void* out);
  // Least squares: a is [m, n], rhs [m, k], out [n, k]. `fast`: normal equations with l2 on the
  // diagonal, kFailed when they are not positive definite; otherwise a complete orthogonal
  // decomposition, which does not look at l2.
  LinalgResult (*least_squares)(int64_t m, int64_t n, int64_t k, const void* a, const void* rhs,
                                double l2, bool fast, void* out);
  // a [m, n] = q r with q [m, p], r [p, n]; p = m when `full`, else min(m, n).
  LinalgResult (*qr)(int64_t m, int64_t n, const void* a, bool full, void* q, void* r);
  // a [m, n] = u diag(s) v^H, s falling; u and v null, or [m, p] and [n, p] with p = min(m, n), or
  // square when `full`. Not a number where a has one.
  LinalgResult (*svd)(int64_t m, int64_t n, const void* a, bool full, void* s, void* u, void* v);
  // Eigenvalues (rising) and vectors (columns; may be null) of the self-adjoint matrix whose lower
  // part is a's; kFailed: no convergence.
  LinalgResult (*self_adjoint_eigen)(int64_t n, const void* a, void* e, void* v);
  // For any matrix; both are complex.
  LinalgResult (*eigen)(int64_t n, const void* a, void* e, void* v);
  // Functions of a matrix; not a number where a is not finite or the root or logarithm does not
  // exist. `logarithm` fails for real types.
  LinalgResult (*square_root)(int64_t n, const void* a, void* out);
  LinalgResult (*exponential)(int64_t n, const void* a, void* out);
  LinalgResult (*logarithm)(int64_t n, const void* a, void* out);
};

const LinalgKernels* LinalgKernelsOf(DType dtype);

}  // namespace thalweg::compute
