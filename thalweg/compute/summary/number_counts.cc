// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/summary/number_counts.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace thalweg::compute {
namespace {

template <class T>
double AsDouble(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    return static_cast<float>(x);
  } else {
    return static_cast<double>(x);
  }
}

template <class T>
NumberCounts Count(const T* data, int64_t n, double lower, double upper) {
  NumberCounts c;
  c.size = n;
  int64_t finite = 0;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto x = AsDouble(data[i]);
    if (std::isfinite(x)) {
      ++finite;
      sum += x;
      c.min = std::min(c.min, x);
      c.max = std::max(c.max, x);
    }
    int64_t& kind = std::isnan(x) ? c.nan
                    : x <= lower  ? c.below
                    : x >= upper  ? c.above
                    : x < 0       ? c.negative
                    : x > 0       ? c.positive
                                  : c.zero;
    ++kind;
  }
  if (finite == 0) return c;
  c.mean = sum / static_cast<double>(finite);
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double x = AsDouble(data[i]) - c.mean;
    if (std::isfinite(x)) squares += x * x;
  }
  c.variance = squares / static_cast<double>(finite);
  return c;
}

}  // namespace

NumberCounts CountNumbers(DType dtype, const void* data, int64_t n, double lower, double upper) {
  NumberCounts counts;
  counts.size = n;
  ForEachType<RealTypes>([&]<class T>() {
    if (dtype == kDTypeOf<T>) counts = Count(static_cast<const T*>(data), n, lower, upper);
  });
  if (dtype == DType::kBool) counts = Count(static_cast<const bool*>(data), n, lower, upper);
  return counts;
}

}  // namespace thalweg::compute
