// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set level. Sums are made in 32 lanes, folded by a fixed tree after
// every kBlock elements, so that AVX2 and AVX-512 give the same bits.
#include <utility>

#include "thalweg/compute/ew/float_math.inc"
#include "thalweg/compute/softmax/kernels.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kBlock = 4096;
template <class T>
constexpr T kNothing = -static_cast<T>(__builtin_inf());

inline Vec<double> Exp(Vec<double> x) {
  for (int i = 0; i < kLanes<double>; ++i) x[i] = Exp(x[i]);
  return x;
}

template <class T, int kBy, size_t... I>
inline Vec<T> Rotate(Vec<T> v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, ((I + kBy) % kLanes<T>)...);
}
template <class T, int kHalf, class Combine>
inline T FoldLanes(Vec<T> v, const Combine& combine) {
  if constexpr (kHalf == 0) {
    return v[0];
  } else {
    const Vec<T> other = Rotate<T, kHalf>(v, std::make_index_sequence<kLanes<T>>());
    return FoldLanes<T, kHalf / 2>(combine(v, other), combine);
  }
}

template <class T>
struct Sum {
  static constexpr int kVectors = 32 / kLanes<T>;
  Vec<T> acc[kVectors] = {};

  T Total() const {
    Vec<T> v[kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) v[i] = acc[i];
#pragma GCC unroll 8
    for (int half = kVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (int i = 0; i < half; ++i) v[i] += v[i + half];
    }
    return FoldLanes<T, kLanes<T> / 2>(v[0], [](Vec<T> a, Vec<T> b) { return a + b; });
  }
};

// body(v, i, count): `count` elements from i, as lanes of vector v; count is kLanes<T> but at the
// end.
template <class T, class Body>
inline void ForVectors(int64_t begin, int64_t end, const Body& body) {
  constexpr int L = kLanes<T>, V = Sum<T>::kVectors;
  int64_t i = begin;
  for (; i + 32 <= end; i += 32) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) body(v, i + v * L, L);
  }
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v, i += L) {
    if (i >= end) return;
    body(v, i, end - i < L ? end - i : L);
  }
}

template <class T>
inline Vec<T> LoadSome(const T* p, int64_t count, T rest) {
  return count == kLanes<T> ? Load(p) : LoadPart(p, count, rest - Vec<T>{});
}
template <class T>
inline void StoreSome(T* p, Vec<T> v, int64_t count) {
  if (count == kLanes<T>) {
    Store(p, v);
  } else {
    StorePart(p, v, count);
  }
}

// NaN does not win: the sum of exponentials shows it.
template <class T>
inline T RowMax(const T* x, int64_t n) {
  Vec<T> most[Sum<T>::kVectors];
  for (auto& v : most) v = kNothing<T> - Vec<T>{};
  ForVectors<T>(0, n, [&](int v, int64_t i, int64_t count) {
    most[v] = Max(LoadSome(x + i, count, kNothing<T>), most[v]);
  });
  for (const auto& v : most) most[0] = Max(v, most[0]);
  return FoldLanes<T, kLanes<T> / 2>(most[0], [](Vec<T> a, Vec<T> b) { return Max(a, b); });
}

// The sum of e^(x - shift); the terms go to out when kStores.
template <class T, bool kStores>
inline T ExpSum(T* out, const T* x, T shift, int64_t n) {
  T total = 0;
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t end = n - from < kBlock ? n : from + kBlock;
    Sum<T> sum;
    ForVectors<T>(from, end, [&](int v, int64_t i, int64_t count) {
      const Vec<T> e = Exp(LoadSome(x + i, count, kNothing<T>) - shift);
      if constexpr (kStores) StoreSome(out + i, e, count);
      sum.acc[v] += e;
    });
    total += sum.Total();
  }
  return total;
}

template <class T>
inline void Scale(T* out, T factor, int64_t n) {
  ForVectors<T>(0, n, [&](int, int64_t i, int64_t count) {
    StoreSome(out + i, LoadSome(out + i, count, T(0)) * factor, count);
  });
}

// A row of at most 32 elements, which stays in registers.
template <class T>
inline T ShortExp(const T* x, T shift, int64_t n, Vec<T>* e) {
  Sum<T> sum;
  ForVectors<T>(0, n, [&](int v, int64_t i, int64_t count) {
    sum.acc[v] = e[v] = Exp(LoadSome(x + i, count, kNothing<T>) - shift);
  });
  return sum.Total();
}

template <class T>
void Softmax(T* out, const T* x, int64_t n) {
  const T max = RowMax(x, n);
  if (n <= 32) {
    Vec<T> e[Sum<T>::kVectors] = {};
    const T factor = T(1) / ShortExp(x, max, n, e);
    ForVectors<T>(
        0, n, [&](int v, int64_t i, int64_t count) { StoreSome(out + i, e[v] * factor, count); });
    return;
  }
  const T sum = ExpSum<T, true>(out, x, max, n);
  Scale(out, T(1) / sum, n);
}

template <class T>
void LogSoftmax(T* out, const T* x, int64_t n) {
  const T max = RowMax(x, n), log_sum = Log(ExpSum<T, false>(nullptr, x, max, n));
  ForVectors<T>(0, n, [&](int, int64_t i, int64_t count) {
    StoreSome(out + i, LoadSome(x + i, count, T(0)) - max - log_sum, count);
  });
}

template <class T>
T Sparse(T* out, const T* x, int64_t label, int64_t n) {
  const T max = RowMax(x, n), shifted = x[label] - max;
  if (n <= 32) {
    Vec<T> e[Sum<T>::kVectors] = {};
    const T sum = ShortExp(x, max, n, e), factor = T(1) / sum;
    ForVectors<T>(0, n, [&](int v, int64_t i, int64_t count) {
      T hit[kLanes<T>] = {};
      if (label >= i && label < i + count) hit[label - i] = T(1);
      StoreSome(out + i, e[v] * factor - Load(hit), count);
    });
    return Log(sum) - shifted;
  }
  const T sum = ExpSum<T, true>(out, x, max, n);
  Scale(out, T(1) / sum, n);
  out[label] -= T(1);
  return Log(sum) - shifted;
}

// The sum of labels * (log_sum - (x - max)), as two: log_sum is not known until x may be gone.
template <class T>
T Dense(T* out, const T* x, const T* labels, int64_t label_step, int64_t n) {
  const T max = RowMax(x, n);
  T copies[kLanes<T>];
  for (T& copy : copies) copy = labels[0];
  const auto label_at = [&](int64_t i, int64_t count) {
    return LoadSome(label_step == 0 ? copies : labels + i, count, T(0));
  };
  T exp_sum = 0, label_sum = 0, product_sum = 0;
  Vec<T> kept[Sum<T>::kVectors] = {};  // of a row of at most 32
  for (int64_t from = 0; from < n; from += kBlock) {
    Sum<T> e_sum, l_sum, p_sum;
    ForVectors<T>(from, n - from < kBlock ? n : from + kBlock,
                  [&](int v, int64_t i, int64_t count) {
                    const Vec<T> shifted = LoadSome(x + i, count, kNothing<T>) - max;
                    const Vec<T> label = label_at(i, count), e = Exp(shifted);
                    const Vec<T> product = label * shifted, zero = {};
                    if (n > 32) StoreSome(out + i, e, count);
                    kept[v] = e;
                    e_sum.acc[v] += e;
                    l_sum.acc[v] += label;
                    // A label of zero takes nothing, not even from an infinite logit.
                    p_sum.acc[v] += label == T(0) ? zero : product;
                  });
    exp_sum += e_sum.Total();
    label_sum += l_sum.Total();
    product_sum += p_sum.Total();
  }
  const T factor = T(1) / exp_sum;
  ForVectors<T>(0, n, [&](int v, int64_t i, int64_t count) {
    const Vec<T> e = n <= 32 ? kept[v] : LoadSome(out + i, count, T(0));
    StoreSome(out + i, e * factor - label_at(i, count), count);
  });
  return label_sum == 0 ? 0 - product_sum : Log(exp_sum) * label_sum - product_sum;
}

template <class T>
constexpr SoftmaxKernels<T> Make() {
  return {Softmax<T>, LogSoftmax<T>, Dense<T>, Sparse<T>};
}

}  // namespace

namespace THALWEG_LEVEL {
constinit const SoftmaxKernels<float> kSoftmaxFloat = Make<float>();
constinit const SoftmaxKernels<double> kSoftmaxDouble = Make<double>();
}  // namespace THALWEG_LEVEL

}  // namespace thalweg::compute
