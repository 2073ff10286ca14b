// SPDX-License-Identifier: Apache-2.0
// Systems whose matrix is stored by diagonals, one system at a time, row-major, by element type.
//
//   const BandedKernels* kernels = BandedKernelsOf(DType::kFloat);
//   kernels->tridiagonal_solve(n, k, super, main, sub, rhs, {.pivoting = true}, scratch, x);
//
// Types: float, double, complex64, complex128; null for any other. Element i of every diagonal lies
// in row i of the matrix: the first of `sub` and the last of `super` are not read.
// Ownership: operands and scratch are the caller's; the table is static.
// Threads: any; a kernel uses the caller's alone.
// Errors: false for a zero on the diagonal, no numbers where a system is singular; null for another
// type.
#pragma once

#include <cstdint>

#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct TridiagonalOptions {
  bool pivoting = true;
  bool perturb_singular = false;  // pivots that are too small are replaced
};

struct BandedKernels {
  // x = a^-1 rhs, or a^-H rhs, for a triangular `a` of `bands` diagonals [bands, n], the main one
  // first when `lower`, else last; rhs and x are [n, k]. False when the main one has a zero.
  bool (*triangular_solve)(int64_t bands, int64_t n, int64_t k, const void* a, const void* rhs,
                           bool lower, bool adjoint, void* x);
  // rhs, x: [n, k]. Not a number when singular. `scratch`: 3 n elements.
  void (*tridiagonal_solve)(int64_t n, int64_t k, const void* super, const void* main,
                            const void* sub, const void* rhs, const TridiagonalOptions& options,
                            void* scratch, void* x);
  // out = a rhs
  void (*tridiagonal_product)(int64_t n, int64_t k, const void* super, const void* main,
                              const void* sub, const void* rhs, void* out);
};

const BandedKernels* BandedKernelsOf(DType dtype);

}  // namespace thalweg::compute
