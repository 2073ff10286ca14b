// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/work.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/half.h"

namespace thalweg {
namespace {

// Truth values are packed as they are.
template <class T>
bool IsAbove(T x, T threshold) {
  if constexpr (std::is_same_v<T, bool>) {
    return x;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return x > threshold;
  } else {
    return static_cast<float>(x) > static_cast<float>(threshold);
  }
}

template <class T>
Status CompareAndBitpack(Context& ctx) {
  const Tensor &x = ctx.input(0), &threshold = ctx.input(1);
  if (x.rank() == 0) {
    return InvalidArgument("Input should be at least a vector, but saw a scalar.");
  }
  if (threshold.rank() != 0) {
    return InvalidArgument("Compare must be a scalar, but saw shape: ", threshold.shape());
  }
  Dims dims = x.shape().dims();
  int64_t& last = dims[dims.size() - 1];
  if (last % 8 != 0) {
    return InvalidArgument("Inner dimension of input should be divisible by 8, but saw shape: ",
                           x.shape());
  }
  last /= 8;
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kUint8, Shape(dims)));
  const T* from = x.data<T>();
  const T bound = threshold.scalar<T>();
  auto* const to = out->mutable_data<uint8_t>();
  constexpr int64_t kBytesPerBlock = 1 << 13;
  return compute::ForBlocks(ctx.work(), out->num_elements(), kBytesPerBlock,
                            [&](int64_t begin, int64_t end) {
                              for (int64_t i = begin; i < end; ++i) {
                                unsigned byte = 0;
                                for (int64_t bit = 8 * i; bit < 8 * i + 8; ++bit) {
                                  byte = byte << 1 | (IsAbove<T>(from[bit], bound) ? 1U : 0U);
                                }
                                to[i] = static_cast<uint8_t>(byte);
                              }
                            });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(compare_bitpack, cpu) {
  ForEachType<Types<bool, Half, float, double, int8_t, int16_t, int32_t, int64_t>>([&]<class T>() {
    registry.AddFunction<CompareAndBitpack<T>>("CompareAndBitpack", kCpu, {{"T", kDTypeOf<T>}});
  });
}
