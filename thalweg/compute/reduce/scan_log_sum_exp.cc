// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/scan_log_sum_exp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "thalweg/compute/interruptible.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 4096;  // elements of a shard

// log(e^a + e^b); equal infinities must not be subtracted.
template <class T>
T LogAddExp(T a, T b) {
  if (a == b) return a + T(M_LN2);
  const T most = std::max(a, b), least = std::min(a, b);
  if (a != a || b != b) return a + b;
  return most + std::log1p(std::exp(least - most));
}

template <class T>
void ScanLine(const ScanShape& s, const T* in, T* out) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  W sum = -std::numeric_limits<W>::infinity();
  for (int64_t k = 0; k < s.size; ++k) {
    LookAtBlocks(static_cast<size_t>(k));
    const int64_t i = (s.reverse ? s.size - 1 - k : k) * s.inner;
    const W value = static_cast<W>(in[i]);
    if (s.exclusive) out[i] = T(sum);
    sum = LogAddExp(sum, value);
    if (!s.exclusive) out[i] = T(sum);
  }
}

}  // namespace

Status ScanLogSumExp(Work& work, DType dtype, const ScanShape& s, const void* in, void* out) {
  Status status = Unimplemented("running sums of exponentials of elements of type ", dtype);
  ForEachType<FloatTypes>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.size));
    status = ForLookingBlocks(work, s.outer * s.inner, grain, [&](int64_t line, int64_t end) {
      for (; line < end; ++line) {
        const int64_t begin = line / s.inner * s.size * s.inner + line % s.inner;
        ScanLine(s, static_cast<const T*>(in) + begin, static_cast<T*>(out) + begin);
      }
    });
  });
  return status;
}

}  // namespace thalweg::compute
