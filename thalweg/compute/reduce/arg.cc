// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/reduce/reduce.h"

namespace thalweg::compute {
namespace {

void StoreIndex(DType type, void* out, int64_t i, int64_t index) {
  switch (type) {
    case DType::kInt64:
      static_cast<int64_t*>(out)[i] = index;
      break;
    case DType::kInt32:
      static_cast<int32_t*>(out)[i] = static_cast<int32_t>(index);
      break;
    default:  // int16, uint16
      static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(index);
      break;
  }
}

// Columns are taken a block at a time, so that rows are read in order.
template <class T>
Status ArgAs(Work& work, ArgOp op, int64_t outer, int64_t size, int64_t inner, const void* in,
             DType out_type, void* out) {
  constexpr int64_t kColumns = 64;
  const T* x = static_cast<const T*>(in);
  const int64_t blocks = (inner + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, 32768 / (size * std::min(inner, kColumns)));
  return ForLookingBlocks(work, outer * blocks, grain, [&](int64_t begin, int64_t end) {
    decltype(ValueOf(T())) best[kColumns];
    int64_t place[kColumns];
    for (int64_t b = begin; b < end; ++b) {
      const int64_t column = b % blocks * kColumns;
      const int64_t columns = std::min(kColumns, inner - column);
      const T* from = x + b / blocks * size * inner + column;
      for (int64_t c = 0; c < columns; ++c) {
        best[c] = ValueOf(from[c]);
        place[c] = 0;
      }
      for (int64_t r = 1; r < size; ++r) {
        LookAtBlocks(static_cast<size_t>(r));
        for (int64_t c = 0; c < columns; ++c) {
          const auto v = ValueOf(from[r * inner + c]);
          const bool better = op == ArgOp::kMax ? v > best[c] : v < best[c];
          best[c] = better ? v : best[c];
          place[c] = better ? r : place[c];
        }
      }
      for (int64_t c = 0; c < columns; ++c)
        StoreIndex(out_type, out, b / blocks * inner + column + c, place[c]);
    }
  });
}

}  // namespace

Status Arg(Work& work, ArgOp op, DType dtype, int64_t outer, int64_t size, int64_t inner,
           const void* in, DType out_type, void* out) {
  if (out_type != DType::kInt64 && out_type != DType::kInt32 && out_type != DType::kInt16 &&
      out_type != DType::kUint16) {
    return Unimplemented("places as elements of type ", out_type);
  }
  Status status = Unimplemented("places of extremes of elements of type ", dtype);
  using Comparables = decltype(JoinTypes(RealTypes{}, Types<bool>{}));
  ForEachType<Comparables>([&]<class T>() {
    if (dtype == kDTypeOf<T>) status = ArgAs<T>(work, op, outer, size, inner, in, out_type, out);
  });
  return status;
}

}  // namespace thalweg::compute
