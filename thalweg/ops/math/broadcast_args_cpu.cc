// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Sizes counted from the last dimension; 1 beyond the first.
struct Sizes {
  const Tensor& shape;
  int64_t FromBack(int64_t i) const {
    const int64_t rank = shape.num_elements();
    return i < rank ? IntAt(shape, rank - 1 - i) : 1;
  }
  std::string ToString() const {
    constexpr int64_t kShown = 32;
    const int64_t rank = shape.num_elements();
    std::string text = "[";
    for (int64_t i = 0; i < std::min(rank, kShown); ++i) {
      text.append(StrCat(i == 0 ? "" : ",", IntAt(shape, i)));
    }
    return text.append(rank > kShown ? ",...]" : "]");
  }
};

Status CheckSizes(Context& ctx) {
  for (int i : {0, 1}) {
    if (ctx.input(i).rank() != 1) {
      return InvalidArgument("In[", i, "] must be a vector.", ctx.input(i).shape());
    }
  }
  const Sizes a{ctx.input(0)}, b{ctx.input(1)};
  const int64_t rank = std::max(a.shape.num_elements(), b.shape.num_elements());
  compute::CancelLooks looks(ctx.work());
  for (int64_t i = 0; i < rank; ++i) {
    RETURN_IF_ERROR(looks.Did());
    const int64_t x = a.FromBack(i), y = b.FromBack(i);
    if (x != y && x != 1 && y != 1) {
      return InvalidArgument("Incompatible shapes: ", a.ToString(), " vs. ", b.ToString(),
                             ": size ", x, " against ", y, " in dimension ", rank - 1 - i);
    }
  }
  return OkStatus();
}

template <class T>
Status SetVector(Context& ctx, int output, const std::vector<T>& values) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(output, kDTypeOf<T>,
                                                    Shape{static_cast<int64_t>(values.size())}));
  std::ranges::copy(values, out->mutable_data<T>());
  return OkStatus();
}

// Dimensions in which one operand is repeated, or both have size 1, are to be summed.
template <class T>
Status GradientArgs(Context& ctx) {
  RETURN_IF_ERROR(CheckSizes(ctx));
  const Sizes a{ctx.input(0)}, b{ctx.input(1)};
  const int64_t rank = std::max(a.shape.num_elements(), b.shape.num_elements());
  std::vector<T> axes_a, axes_b;
  compute::CancelLooks looks(ctx.work());
  for (int64_t d = 0; d < rank; ++d) {
    RETURN_IF_ERROR(looks.Did());
    const int64_t x = a.FromBack(rank - 1 - d), y = b.FromBack(rank - 1 - d);
    if (x == 1) axes_a.push_back(static_cast<T>(d));
    if (y == 1) axes_b.push_back(static_cast<T>(d));
  }
  RETURN_IF_ERROR(SetVector(ctx, 0, axes_a));
  return SetVector(ctx, 1, axes_b);
}

template <class T>
Status Args(Context& ctx) {
  RETURN_IF_ERROR(CheckSizes(ctx));
  const Sizes a{ctx.input(0)}, b{ctx.input(1)};
  const int64_t rank = std::max(a.shape.num_elements(), b.shape.num_elements());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<T>, Shape{rank}));
  T* size = out->mutable_data<T>();
  compute::CancelLooks looks(ctx.work());
  for (int64_t i = rank - 1; i >= 0; --i) {
    RETURN_IF_ERROR(looks.Did());
    *size++ = static_cast<T>(a.FromBack(i) == 1 ? b.FromBack(i) : a.FromBack(i));
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(broadcast_args, cpu) {
  ForEachType<Types<int32_t, int64_t>>([&]<class T> {
    registry.AddFunction<GradientArgs<T>>("BroadcastGradientArgs", kCpu, {{"T", kDTypeOf<T>}})
        .Cost(KernelCost::kCheap);
    registry.AddFunction<Args<T>>("BroadcastArgs", kCpu, {{"T", kDTypeOf<T>}})
        .Cost(KernelCost::kCheap);
  });
}
