// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set level.
#include "thalweg/compute/gemm/gemm_kernels.h"
#include "thalweg/compute/isa/vector.inc"

namespace thalweg::compute {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 14;
#elif defined(__AVX2__)
constexpr int kRows = 6;
#else
constexpr int kRows = 5;
#endif

template <class T>
constexpr int kCols = 2 * kLanes<T>;

// Bias, residual, relu and the partial columns of the last panel. Rare: once per tile, not once per
// k.
template <class T, int R>
__attribute__((noinline)) void Finish(const GemmTile<T>& t, const T (*sum)[kCols<T>]) {
  for (int r = 0; r < R; ++r) {
    T* c = t.c + r * t.c_stride;
    for (int64_t j = 0; j < t.cols; ++j) {
      T v = sum[r][j];
      if (t.accumulate) v = c[j] + v;
      if (t.bias != nullptr) v = v + t.bias[j];
      if (t.residual != nullptr) v = v + t.residual[r * t.c_stride + j];
      if (t.relu) v = v < 0 ? 0 : v;
      c[j] = v;
    }
  }
}

template <class T, int R, bool RowMajor>
void Tile(const GemmTile<T>& t) {
  constexpr int L = kLanes<T>;
  Vec<T> acc[R][2] = {};
  const T* a = t.a;
  const T* b = t.b;
  const int64_t a_step = RowMajor ? 1 : t.a_stride;
  for (int64_t k = 0; k < t.k; ++k) {
    const Vec<T> b0 = Load(b);
    const Vec<T> b1 = Load(b + L);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec<T> x = a[RowMajor ? r * kGemmTileStride : r] - Vec<T>{};
      acc[r][0] = Fma(x, b0, acc[r][0]);
      acc[r][1] = Fma(x, b1, acc[r][1]);
    }
    a += a_step;
    b += t.b_stride;
  }
  if (t.cols < kCols<T> || t.bias != nullptr || t.residual != nullptr || t.relu) {
    alignas(64) T sum[R][kCols<T>];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      Store(sum[r], acc[r][0]);
      Store(sum[r] + L, acc[r][1]);
    }
    Finish<T, R>(t, sum);
    return;
  }
  T* c = t.c;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r, c += t.c_stride) {
    Store(c, t.accumulate ? Load(c) + acc[r][0] : acc[r][0]);
    Store(c + L, t.accumulate ? Load(c + L) + acc[r][1] : acc[r][1]);
  }
}

template <class T>
void Axpy(int64_t n, int64_t k, const T* x, int64_t x_stride, const T* b, int64_t b_stride,
          T* __restrict y, bool accumulate) {
  if (!accumulate) {
    for (int64_t j = 0; j < n; ++j) y[j] = 0;
  }
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const T x0 = x[p * x_stride], x1 = x[(p + 1) * x_stride];
    const T x2 = x[(p + 2) * x_stride], x3 = x[(p + 3) * x_stride];
    const T* b0 = b + p * b_stride;
    const T* b1 = b0 + b_stride;
    const T* b2 = b1 + b_stride;
    const T* b3 = b2 + b_stride;
    for (int64_t j = 0; j < n; ++j) {
      y[j] = Fma(x3, b3[j], Fma(x2, b2[j], Fma(x1, b1[j], Fma(x0, b0[j], y[j]))));
    }
  }
  for (; p < k; ++p) {
    const T x0 = x[p * x_stride];
    const T* b0 = b + p * b_stride;
    for (int64_t j = 0; j < n; ++j) y[j] = Fma(x0, b0[j], y[j]);
  }
}

template <class T>
T Dot(int64_t n, const T* a, const T* b) {
  constexpr int L = kLanes<T>;
  constexpr int V = 32 / L;
  Vec<T> acc[V] = {};
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) acc[v] = Fma(Load(a + i + v * L), Load(b + i + v * L), acc[v]);
  }
  T lane[32];
#pragma GCC unroll 16
  for (int v = 0; v < V; ++v) Store(lane + v * L, acc[v]);
  for (int j = 0; i < n; ++i, ++j) lane[j] = Fma(a[i], b[i], lane[j]);
  for (int half = 16; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) lane[j] += lane[j + half];
  }
  return lane[0];
}

#if defined(__AVX512F__)
#define THALWEG_TILES(T, M)                                                             \
  {                                                                                     \
    nullptr, Tile<T, 1, M>, Tile<T, 2, M>, Tile<T, 3, M>, Tile<T, 4, M>, Tile<T, 5, M>, \
        Tile<T, 6, M>, Tile<T, 7, M>, Tile<T, 8, M>, Tile<T, 9, M>, Tile<T, 10, M>,     \
        Tile<T, 11, M>, Tile<T, 12, M>, Tile<T, 13, M>, Tile<T, 14, M>                  \
  }
#elif defined(__AVX2__)
#define THALWEG_TILES(T, M)                                                             \
  {                                                                                     \
    nullptr, Tile<T, 1, M>, Tile<T, 2, M>, Tile<T, 3, M>, Tile<T, 4, M>, Tile<T, 5, M>, \
        Tile<T, 6, M>                                                                   \
  }
#else
#define THALWEG_TILES(T, M) \
  { nullptr, Tile<T, 1, M>, Tile<T, 2, M>, Tile<T, 3, M>, Tile<T, 4, M>, Tile<T, 5, M> }
#endif

}  // namespace

namespace THALWEG_LEVEL {
const GemmKernels<float> kGemmFloat = {
    kRows,       kCols<float>, THALWEG_TILES(float, true), THALWEG_TILES(float, false),
    Axpy<float>, Dot<float>};
const GemmKernels<double> kGemmDouble = {
    kRows,        kCols<double>, THALWEG_TILES(double, true), THALWEG_TILES(double, false),
    Axpy<double>, Dot<double>};
}  // namespace THALWEG_LEVEL

}  // namespace thalweg::compute
