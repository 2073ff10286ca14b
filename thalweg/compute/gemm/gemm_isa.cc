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

// A tile whose columns are not whole vectors. Rare: the last panel only. The number of rows is no
// template argument: the compiler makes many loops of this one, and took longer for them than for
// all tiles.
template <class T, int V>
__attribute__((noinline)) void FinishPartial(const GemmTile<T>& t, int rows,
                                             const T (*sum)[V * kLanes<T>]) {
  for (int r = 0; r < rows; ++r) {
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

template <class T, int R, int V>
inline __attribute__((always_inline)) void Finish(const GemmTile<T>& t, Vec<T> (&acc)[R][V]) {
  constexpr int L = kLanes<T>;
  if (t.cols < V * L) {
    alignas(64) T sum[R][V * L];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) Store(sum[r] + v * L, acc[r][v]);
    }
    FinishPartial<T, V>(t, R, sum);
    return;
  }
  const auto each = [&](const auto& change) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) change(acc[r][v], r, v * L);
    }
  };
  if (t.accumulate) {
    each([&](Vec<T>& x, int r, int j) { x = Load(t.c + r * t.c_stride + j) + x; });
  }
  if (t.bias != nullptr) each([&](Vec<T>& x, int, int j) { x = x + Load(t.bias + j); });
  if (t.residual != nullptr) {
    each([&](Vec<T>& x, int r, int j) { x = x + Load(t.residual + r * t.c_stride + j); });
  }
  if (t.relu) each([&](Vec<T>& x, int, int) { x = x < Vec<T>{} ? Vec<T>{} : x; });
  each([&](Vec<T>& x, int r, int j) { Store(t.c + r * t.c_stride + j, x); });
}

// V vectors of columns; from three on they span panels that lie t.panel_stride apart.
template <class T, int R, bool RowMajor, int V>
void Tile(const GemmTile<T>& t) {
  constexpr int L = kLanes<T>;
  // c is asked for at once: it is needed after the last step.
  constexpr bool kPrefetch = V <= 2 && R >= 4;
  Vec<T> acc[R][V] = {};
  const T* b = t.b;
  const T* next = t.next;
  // Three rows a pointer: their distances are index and twice the index, which addresses can hold.
  constexpr int kPointers = RowMajor ? (R + 2) / 3 : 1;
  const T* a[kPointers];
#pragma GCC unroll 8
  for (int p = 0; p < kPointers; ++p) a[p] = t.a + 3 * p * (RowMajor ? t.a_stride : 0);
  const int64_t stride = t.a_stride;
  if (kPrefetch) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) __builtin_prefetch(t.c + r * t.c_stride + v * L, 0, 2);
    }
  }
  for (int64_t k = 0; k < t.k; ++k) {
    Vec<T> column[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) column[v] = Load(b + v / 2 * t.panel_stride + v % 2 * L);
    if (kPrefetch) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) __builtin_prefetch(next + v * L, 0, 3);
      next += t.next_step;
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec<T> x = (RowMajor ? a[r / 3][r % 3 * stride] : a[0][r]) - Vec<T>{};
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) acc[r][v] = Fma(x, column[v], acc[r][v]);
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPointers; ++p) a[p] += RowMajor ? 1 : stride;
    b += t.b_stride;
  }
  Finish<T, R, V>(t, acc);
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

template <class T>
void PackRows(int64_t depth, const T* from, int64_t stride, T* panel) {
  constexpr int L = kLanes<T>;
  for (int64_t k = 0; k < depth; ++k, from += stride, panel += 2 * L) {
    const Vec<T> x = Load(from), y = Load(from + L);
    Store(panel, x);
    Store(panel + L, y);
  }
}

// The lower, or upper, halves of a and b with their elements in turn.
template <bool Upper, class V>
inline V Zip(V a, V b) {
  constexpr int n = sizeof(V) / sizeof(a[0]), s = Upper ? n / 2 : 0;
  if constexpr (n == 2) {
    return __builtin_shufflevector(a, b, s, s + 2);
  } else if constexpr (n == 4) {
    return __builtin_shufflevector(a, b, s, s + 4, s + 1, s + 5);
  } else if constexpr (n == 8) {
    return __builtin_shufflevector(a, b, s, s + 8, s + 1, s + 9, s + 2, s + 10, s + 3, s + 11);
  } else {
    return __builtin_shufflevector(a, b, s, s + 16, s + 1, s + 17, s + 2, s + 18, s + 3, s + 19,
                                   s + 4, s + 20, s + 5, s + 21, s + 6, s + 22, s + 7, s + 23);
  }
}

template <class T>
void PackColumns(int64_t depth, const T* from, int64_t stride, T* panel) {
  constexpr int L = kLanes<T>;
  for (int64_t k = 0; k + L <= depth; k += L) {
    for (int half = 0; half < 2 * L; half += L) {
      Vec<T> x[L], y[L];
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) x[i] = Load(from + (half + i) * stride + k);
        // Each round doubles the length of the runs that come from one column.
#pragma GCC unroll 4
      for (int round = 1; round < L; round *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < L / 2; ++i) {
          y[2 * i] = Zip<false>(x[i], x[i + L / 2]);
          y[2 * i + 1] = Zip<true>(x[i], x[i + L / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < L; ++i) x[i] = y[i];
      }
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) Store(panel + (k + i) * 2 * L + half, x[i]);
    }
  }
  for (int64_t k = depth / L * L; k < depth; ++k) {
    for (int j = 0; j < 2 * L; ++j) panel[k * 2 * L + j] = from[j * stride + k];
  }
}

#if defined(__AVX512F__)
#define THALWEG_TILES(T, M, V)                                                                    \
  {                                                                                               \
    nullptr, Tile<T, 1, M, V>, Tile<T, 2, M, V>, Tile<T, 3, M, V>, Tile<T, 4, M, V>,              \
        Tile<T, 5, M, V>, Tile<T, 6, M, V>, Tile<T, 7, M, V>, Tile<T, 8, M, V>, Tile<T, 9, M, V>, \
        Tile<T, 10, M, V>, Tile<T, 11, M, V>, Tile<T, 12, M, V>, Tile<T, 13, M, V>,               \
        Tile<T, 14, M, V>                                                                         \
  }
#define THALWEG_WIDE(T) \
  { nullptr, Tile<T, 1, true, 8>, Tile<T, 2, true, 4>, Tile<T, 3, true, 4> }
constexpr int kWidePanels[kGemmWideRows + 1] = {0, 4, 2, 2};
#else
#if defined(__AVX2__)
#define THALWEG_TILES(T, M, V)                                                       \
  {                                                                                  \
    nullptr, Tile<T, 1, M, V>, Tile<T, 2, M, V>, Tile<T, 3, M, V>, Tile<T, 4, M, V>, \
        Tile<T, 5, M, V>, Tile<T, 6, M, V>                                           \
  }
#else
#define THALWEG_TILES(T, M, V)                                                       \
  {                                                                                  \
    nullptr, Tile<T, 1, M, V>, Tile<T, 2, M, V>, Tile<T, 3, M, V>, Tile<T, 4, M, V>, \
        Tile<T, 5, M, V>                                                             \
  }
#endif
#define THALWEG_WIDE(T) \
  { nullptr, Tile<T, 1, true, 8>, Tile<T, 2, true, 4>, Tile<T, 3, true, 2> }
constexpr int kWidePanels[kGemmWideRows + 1] = {0, 4, 2, 1};
#endif
#define THALWEG_TABLE(T)                                                                   \
  {                                                                                        \
    kRows, kCols<T>,                                                                       \
        {{THALWEG_TILES(T, true, 1), THALWEG_TILES(T, true, 2)},                           \
         {THALWEG_TILES(T, false, 1), THALWEG_TILES(T, false, 2)}},                        \
        {kWidePanels[0], kWidePanels[1], kWidePanels[2], kWidePanels[3]}, THALWEG_WIDE(T), \
        Axpy<T>, PackRows<T>, PackColumns<T>, Dot<T>                                       \
  }

}  // namespace

namespace THALWEG_LEVEL {
const GemmKernels<float> kGemmFloat = THALWEG_TABLE(float);
const GemmKernels<double> kGemmDouble = THALWEG_TABLE(double);
}  // namespace THALWEG_LEVEL

}  // namespace thalweg::compute
