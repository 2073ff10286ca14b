// SPDX-License-Identifier: Apache-2.0
// The innermost loops of matrix products, one table per level. Private to compute/gemm and
// compute/conv.
// Ownership: tables are static; tiles are the caller's.
// Threads: any; a loop is the caller's thread alone.
// Errors: none.
#pragma once

#include <cstdint>

namespace thalweg::compute {

// The depth of one pass over k. Every level uses the same, so that sums associate alike.
inline constexpr int64_t kGemmDepth = 256;
// The row stride of a copied row-major tile of A: it spreads rows over cache sets.
inline constexpr int64_t kGemmTileStride = kGemmDepth + 16;
inline constexpr int kGemmMaxRows = 14;
inline constexpr int kGemmWideRows = 3;

// c[0:rows, 0:cols] (+)= a * b, then bias, residual and relu when `last`.
template <class T>
struct GemmTile {
  int64_t k;
  const T* a;
  int64_t a_stride;  // from row to row, or, of a k-major a, from step to step
  const T* b;        // one panel of columns, or several of which each begins panel_stride later
  int64_t b_stride;  // from step to step
  int64_t panel_stride;
  // What somebody needs soon: from each step to the next so many elements are asked for.
  const T* next;
  int64_t next_step;
  T* c;
  int64_t c_stride;
  int64_t cols;     // 1 to all that the tile computes
  bool accumulate;  // add to c instead of overwriting it
  bool relu;
  const T* bias;      // cols of them, or null
  const T* residual;  // laid out like c, or null
};

template <class T>
struct GemmKernels {
  using TileFn = void (*)(const GemmTile<T>&);
  int rows;  // of the largest tile
  int cols;  // of a panel: two vectors
  // [k-major][whole panel][r]: r rows of half a panel or a whole one, 1 <= r <= rows.
  TileFn tile[2][2][kGemmMaxRows + 1];
  // [r]: few row-major rows of several panels at once, which keeps more sums in flight.
  int wide_panels[kGemmWideRows + 1];
  TileFn wide[kGemmWideRows + 1];
  // y[0:n] (+)= sum over k of x[k * x_stride] * b[k * b_stride + 0:n].
  void (*axpy)(int64_t n, int64_t k, const T* x, int64_t x_stride, const T* b, int64_t b_stride,
               T* y, bool accumulate);
  // Panels of b, [depth, cols] row-major without gaps: rows of a matrix, or columns of its
  // transpose.
  void (*pack_rows)(int64_t depth, const T* from, int64_t stride, T* panel);
  void (*pack_columns)(int64_t depth, const T* from, int64_t stride, T* panel);
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
