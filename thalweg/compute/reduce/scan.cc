// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/scan.h"

#include <algorithm>
#include <complex>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/interruptible.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;  // elements of a shard

template <class T>
auto Widen(T value) {
  if constexpr (std::is_integral_v<T>) {
    // Unsigned and not narrower than int: wraps without undefined behavior.
    using W = std::conditional_t<sizeof(T) < 8, uint32_t, uint64_t>;
    return static_cast<W>(value);
  } else {
    return ValueOf(value);
  }
}

template <class W>
W Folded(ScanOp op, W a, W b) {
  return static_cast<W>(op == ScanOp::kSum ? a + b : a * b);
}

// One line of `size` elements, `inner` apart.
template <class T>
void ScanLine(ScanOp op, const ScanShape& s, const T* in, T* out) {
  using W = decltype(Widen(T{}));
  W sum = op == ScanOp::kSum ? W(0) : W(1);
  for (int64_t k = 0; k < s.size; ++k) {
    LookAtBlocks(static_cast<size_t>(k));
    const int64_t i = (s.reverse ? s.size - 1 - k : k) * s.inner;
    const W value = Widen(in[i]);
    if (s.exclusive) out[i] = T(sum);
    sum = Folded(op, sum, value);
    if (!s.exclusive) out[i] = T(sum);
  }
}

template <class T>
Status Run(Work& work, ScanOp op, const ScanShape& s, const void* in, void* out) {
  const int64_t lines = s.outer * s.inner;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.size));
  return ForLookingBlocks(work, lines, grain, [&](int64_t line, int64_t end) {
    for (; line < end; ++line) {
      const int64_t begin = line / s.inner * s.size * s.inner + line % s.inner;
      ScanLine(op, s, static_cast<const T*>(in) + begin, static_cast<T*>(out) + begin);
    }
  });
}

}  // namespace

Status Scan(Work& work, ScanOp op, DType dtype, const ScanShape& shape, const void* in, void* out) {
  Status status = Unimplemented("running sums of elements of type ", dtype);
  ForEachType<NumberTypes>([&]<class T> {
    if (kDTypeOf<T> == dtype) status = Run<T>(work, op, shape, in, out);
  });
  return status;
}

}  // namespace thalweg::compute
