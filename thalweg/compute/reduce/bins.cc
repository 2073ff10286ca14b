// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/bins.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/interruptible.h"

namespace thalweg::compute {
namespace {

// Integers wrap.
template <class T>
T Sum(T a, T b) {
  if constexpr (kIsHalf<T>) {
    return T(static_cast<float>(a) + static_cast<float>(b));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <class T>
void Count(const BinShape& shape, const int64_t* values, const int64_t* rows, const T* weights,
           T* out) {
  for (int64_t i = 0; i < shape.count; ++i) {
    LookAtBlocks(static_cast<size_t>(i));
    if (values[i] < 0 || values[i] >= shape.bins) continue;
    T& bin = out[(rows == nullptr ? 0 : rows[i] * shape.bins) + values[i]];
    bin = shape.binary ? T(1) : Sum(bin, weights == nullptr ? T(1) : weights[i]);
  }
}

}  // namespace

Status CountBins(DType dtype, const BinShape& shape, const int64_t* values, const int64_t* rows,
                 const void* weights, void* out) {
  Status status = Unimplemented("bins of elements of type ", dtype);
  ForEachType<NumberTypes>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    Count(shape, values, rows, static_cast<const T*>(weights), static_cast<T*>(out));
    status = OkStatus();
  });
  return status;
}

// In double for integers: the width of a bin need not be whole.
template <class T, class Count>
Status HistogramFixedWidth(std::span<const T> values, T low, T high, std::span<Count> out) {
  using Real = std::conditional_t<std::is_integral_v<T>, double, T>;
  const auto bins = static_cast<Real>(out.size());
  const Real first = static_cast<Real>(low);
  // Halves first: the difference of two finite numbers may not be finite.
  const Real width = (static_cast<Real>(high) / 2 - first / 2) / bins * 2;
  for (size_t i = 0; i < values.size(); ++i) {
    LookAtBlocks(i);
    const Real place = std::floor((static_cast<Real>(values[i]) - first) / width);
    if (std::isnan(place)) return InvalidArgument("Histogram values must not contain NaN");
    const Real bin = std::clamp(place, Real(0), bins - 1);
    ++out[std::min(static_cast<size_t>(bin), out.size() - 1)];
  }
  return OkStatus();
}

#define THALWEG_HISTOGRAM(T)                                                             \
  template Status HistogramFixedWidth(std::span<const T>, T, T, std::span<int32_t> out); \
  template Status HistogramFixedWidth(std::span<const T>, T, T, std::span<int64_t> out);
THALWEG_HISTOGRAM(float)
THALWEG_HISTOGRAM(double)
THALWEG_HISTOGRAM(int32_t)
THALWEG_HISTOGRAM(int64_t)
#undef THALWEG_HISTOGRAM

}  // namespace thalweg::compute
