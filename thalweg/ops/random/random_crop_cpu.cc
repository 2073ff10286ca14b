// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/ops/random/random_stream.h"

namespace thalweg {
namespace {

class RandomCropCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<RandomCropCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& image = ctx.input(0);
    if (image.rank() != 3) {
      return InvalidArgument("image must have 3 dimensions, got shape ", image.shape());
    }
    ASSIGN_OR_RETURN(const Dims size, IntVector(ctx.input(1), "size"));
    if (size.size() != 2) {
      return InvalidArgument("size must have two elements, got shape ", ctx.input(1).shape());
    }
    constexpr std::string_view kNames[] = {"height", "width"};
    for (int d = 0; d < 2; ++d) {
      if (size[d] < 0) return InvalidArgument("size must not be negative, got ", size[d]);
      if (size[d] <= image.dim(d)) continue;
      return FailedPrecondition(kNames[d], " must be >= target_", kNames[d], ": ", kNames[d], " = ",
                                image.dim(d), ", target_", kNames[d], " = ", size[d]);
    }
    if (size[0] == image.dim(0) && size[1] == image.dim(1)) {
      ctx.set_output(0, image);
      return OkStatus();
    }
    const Dims dims{size[0], size[1], image.dim(2)};
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, image.dtype(), Shape(dims)));
    compute::PhiloxNumbers numbers(stream().Reserve(1));
    const Dims strides = compute::ContiguousStrides(image.shape().dims());
    int64_t offset = 0;
    for (int d : {1, 0}) {  // a number is drawn where there is a choice, for the column first
      const auto choices = static_cast<uint64_t>(image.dim(d) - size[d]) + 1;
      if (choices > 1) offset += static_cast<int64_t>(numbers.Next() % choices) * strides[d];
    }
    return compute::CopyStrided(ctx.work(), image.dtype(), dims,
                                {image.raw_data(), strides, offset},
                                {out->mutable_raw_data(), compute::ContiguousStrides(dims)});
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(random_crop, cpu) {
  for (DType dtype : {DType::kUint8, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64,
                      DType::kFloat, DType::kDouble}) {
    registry.Add<RandomCropCpu>("RandomCrop", kCpu, {{"T", dtype}}).KeepsState();
  }
}
