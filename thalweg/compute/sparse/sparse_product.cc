// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/sparse/sparse_product.h"

#include <algorithm>
#include <complex>

#include "thalweg/compute/arithmetic.h"

namespace thalweg::compute {
namespace {

template <class V>
V Conjugate(V value) {
  if constexpr (requires { value.imag(); }) {
    return std::conj(value);
  } else {
    return value;
  }
}

// What sums are kept in: integers wrap around.
template <class T>
using Sum = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                        std::type_identity<Value<T>>>::type;

// Columns [begin, end) of the product; 16-bit floats are summed in float.
template <class T>
bool Columns(Work& work, const SparseProduct& p, const int64_t* places, const T* values, const T* b,
             int64_t begin, int64_t end, T* out) {
  using V = Sum<T>;
  const int64_t width = end - begin;
  constexpr bool kOwn = !std::is_same_v<V, T>;
  Scratch<V> scratch(work, kOwn ? p.rows * width : 0);
  if (!scratch) return false;
  const int64_t stride = kOwn ? width : p.columns;
  V* sums = nullptr;
  if constexpr (kOwn) {
    sums = scratch.get();
  } else {
    sums = out + begin;
  }
  for (int64_t row = 0; row < p.rows; ++row) std::fill_n(sums + row * stride, width, V(0));
  for (int64_t i = 0; i < p.count; ++i) {
    const int64_t row = places[2 * i + (p.adjoint_a ? 1 : 0)];
    const int64_t column = places[2 * i + (p.adjoint_a ? 0 : 1)];
    const V value =
        static_cast<V>(p.adjoint_a ? Conjugate(ValueOf(values[i])) : ValueOf(values[i]));
    V* const to = sums + row * stride;
    if (p.adjoint_b) {
      for (int64_t j = 0; j < width; ++j) {
        to[j] += value * static_cast<V>(Conjugate(ValueOf(b[(begin + j) * p.inner + column])));
      }
    } else {
      const T* const from = b + column * p.columns + begin;
      for (int64_t j = 0; j < width; ++j) to[j] += value * static_cast<V>(ValueOf(from[j]));
    }
  }
  if constexpr (kOwn) {
    for (int64_t row = 0; row < p.rows; ++row) {
      for (int64_t j = 0; j < width; ++j) {
        out[row * p.columns + begin + j] = T(static_cast<Value<T>>(sums[row * width + j]));
      }
    }
  }
  return true;
}

}  // namespace

Status MultiplySparse(Work& work, DType dtype, const SparseProduct& product, const int64_t* places,
                      const void* values, const void* b, void* out) {
  using List = decltype(JoinTypes(JoinTypes(FloatTypes{}, ComplexTypes{}), Types<int32_t>{}));
  return WithType<List>(dtype, "a sparse product", [&]<class T>() {
    constexpr int64_t kColumnsOfShard = 64;
    const int64_t shards = (product.columns + kColumnsOfShard - 1) / kColumnsOfShard;
    return ForShards(work, shards, [&](int64_t shard) {
      const int64_t begin = shard * kColumnsOfShard;
      return Columns(work, product, places, static_cast<const T*>(values), static_cast<const T*>(b),
                     begin, std::min(begin + kColumnsOfShard, product.columns),
                     static_cast<T*>(out));
    });
  });
}

}  // namespace thalweg::compute
