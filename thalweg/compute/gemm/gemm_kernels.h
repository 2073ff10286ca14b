// SPDX-License-Identifier: Apache-2.0
// The innermost loops of matrix products, one table per level. Private to compute/gemm and
// compute/conv.
#pragma once

#include <cstdint>

namespace thalweg::compute {

// The depth of one pass over k. Every level uses the same, so that sums associate alike.
inline constexpr int64_t kGemmDepth = 256;
// The row stride of a row-major A tile: a constant (addresses become immediates) that spreads rows
// over cache sets.
inline constexpr int64_t kGemmTileStride = kGemmDepth + 16;
inline constexpr int kGemmMaxRows = 14;

// c[0:rows, 0:cols] (+)= a * b, then bias, residual and relu when `last`.
template <class T>
struct GemmTile {
  int64_t k;
  const T* a;        // row-major with kGemmTileStride, or k-major with a_stride
  int64_t a_stride;  // k-major only
  const T* b;        // nr columns a step
  int64_t b_stride;
  T* c;
  int64_t c_stride;
  int64_t cols;     // 1..nr
  bool accumulate;  // add to c instead of overwriting it
  bool relu;
  const T* bias;      // nr columns, or null
  const T* residual;  // laid out like c, or null
};

template <class T>
struct GemmKernels {
  int rows;  // of the largest tile
  int cols;  // of every tile
  // [r]: a tile with r rows, 1 <= r <= rows.
  void (*row_major[kGemmMaxRows + 1])(const GemmTile<T>&);
  void (*k_major[kGemmMaxRows + 1])(const GemmTile<T>&);
  // y[0:n] (+)= sum over k of x[k * x_stride] * b[k * b_stride + 0:n].
  void (*axpy)(int64_t n, int64_t k, const T* x, int64_t x_stride, const T* b, int64_t b_stride,
               T* y, bool accumulate);
  // The sum of a[i] * b[i] in 32 lanes and a fixed tree.
  T (*dot)(int64_t n, const T* a, const T* b);
};

#define THALWEG_LEVEL_TABLES(LEVEL)             \
  namespace LEVEL {                             \
  extern const GemmKernels<float> kGemmFloat;   \
  extern const GemmKernels<double> kGemmDouble; \
  }
THALWEG_LEVEL_TABLES(sse4)
THALWEG_LEVEL_TABLES(avx2)
THALWEG_LEVEL_TABLES(avx512)
#undef THALWEG_LEVEL_TABLES

}  // namespace thalweg::compute
