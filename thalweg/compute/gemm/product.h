// SPDX-License-Identifier: Apache-2.0
// Product: c = a * b where a and b are described by the functions that copy their tiles. The one
// driver under Gemm and Conv2D; private to compute/gemm and compute/conv.
//
// The order of every sum over k depends on k alone: passes of kGemmDepth, each summed by fused
// multiply-adds in order, passes added in order. So bits depend neither on the split nor on the
// tile of a level.
// Ownership: contexts and matrices are the caller's and outlive the run.
// Threads: any, each with its own Work; copiers are called by several shards at once.
// Errors: those of work.h; -1 where a packed form overflows.
#pragma once

#include <cstdint>

#include "thalweg/compute/gemm/gemm_kernels.h"
#include "thalweg/compute/work.h"

namespace thalweg::compute {

template <class T>
struct Product {
  int64_t m = 0, n = 0, k = 0;

  // Writes a[row : row + rows, k0 : k0 + depth] to `tile`: row-major with kGemmTileStride, or, when
  // a_k_major, k-major with stride `rows`.
  void (*fill_a)(const void* context, int64_t row, int64_t rows, int64_t k0, int64_t depth,
                 T* tile);
  const void* a_context = nullptr;
  bool a_k_major = false;
  bool a_strips = false;  // of a k-major a: fill_a is called for the rows of one micro-kernel each
  // When not null, row-major a as it lies in memory; used instead of copies.
  const T* a_direct = nullptr;
  int64_t a_direct_stride = 0;

  // Writes b[k0 : k0 + depth, col : col + cols] to `panel`, row-major with stride `width`, the rest
  // of a row zero.
  void (*pack_b)(const void* context, int64_t k0, int64_t depth, int64_t col, int64_t cols,
                 int64_t width, T* panel);
  const void* b_context = nullptr;
  // When not null, b as it lies in memory; used without packing where few rows of a meet it.
  const T* b_direct = nullptr;
  int64_t b_direct_stride = 0;
  // When not null, the whole of b as PackWhole left it; pack_b is not called then.
  const T* b_packed = nullptr;

  T* c = nullptr;
  int64_t c_stride = 0;
  bool accumulate = false;
  const T* bias = nullptr;
  const T* residual = nullptr;
  bool relu = false;
};

// Needs m, n, k >= 1.
template <class T>
Status RunProduct(Work& work, const Product<T>& product);

// Writes b to `packed`, PackedElements of them, by pack_b of a product that has n and k.
template <class T>
Status PackWhole(Work& work, const Product<T>& product, T* packed);
// How many an instruction set level needs. -1 when it overflows.
template <class T>
int64_t PackedElements(const IsaTable& isa, int64_t n, int64_t k);

template <class T>
const GemmKernels<T>& GemmKernelsOf(const IsaTable& isa);
template <>
inline const GemmKernels<float>& GemmKernelsOf<float>(const IsaTable& isa) {
  return *isa.gemm_float;
}
template <>
inline const GemmKernels<double>& GemmKernelsOf<double>(const IsaTable& isa) {
  return *isa.gemm_double;
}

}  // namespace thalweg::compute
