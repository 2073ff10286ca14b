// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/cross.h"

#include <type_traits>

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 8192;  // vectors of a shard

// What an element is computed in: unsigned for integers, which wrap.
template <class T>
auto Wide(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::conditional_t<sizeof(T) < 8, uint32_t, uint64_t>>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

template <class T>
void CrossOne(const T* a, const T* b, T* out) {
  const auto a0 = Wide(a[0]), a1 = Wide(a[1]), a2 = Wide(a[2]);
  const auto b0 = Wide(b[0]), b1 = Wide(b[1]), b2 = Wide(b[2]);
  out[0] = static_cast<T>(a1 * b2 - a2 * b1);
  out[1] = static_cast<T>(a2 * b0 - a0 * b2);
  out[2] = static_cast<T>(a0 * b1 - a1 * b0);
}

}  // namespace

Status Cross(Work& work, DType dtype, int64_t n, const void* a, const void* b, void* out) {
  Status status = Unimplemented("cross products of elements of type ", dtype);
  ForEachType<RealTypes>([&]<class T> {
    if (kDTypeOf<T> != dtype) return;
    status = ForBlocks(work, n, kGrain, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        CrossOne(static_cast<const T*>(a) + 3 * i, static_cast<const T*>(b) + 3 * i,
                 static_cast<T*>(out) + 3 * i);
      }
    });
  });
  return status;
}

}  // namespace thalweg::compute
