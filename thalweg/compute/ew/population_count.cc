// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/population_count.h"

#include <bit>

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 65536;  // elements of a shard

template <class T>
Status Run(Work& work, int64_t n, const void* in, uint8_t* out) {
  const T* x = static_cast<const T*>(in);
  return ForBlocks(work, n, kGrain, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) out[i] = static_cast<uint8_t>(std::popcount(x[i]));
  });
}

}  // namespace

Status PopulationCount(Work& work, DType dtype, int64_t n, const void* in, uint8_t* out) {
  if (!IsInteger(dtype)) return Unimplemented("bits of elements of type ", dtype);
  switch (DTypeSize(dtype)) {
    case 1:
      return Run<uint8_t>(work, n, in, out);
    case 2:
      return Run<uint16_t>(work, n, in, out);
    case 4:
      return Run<uint32_t>(work, n, in, out);
    default:
      return Run<uint64_t>(work, n, in, out);
  }
}

}  // namespace thalweg::compute
