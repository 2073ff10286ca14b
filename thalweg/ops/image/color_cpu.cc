// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/image/color.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status CheckPixels(const Tensor& images, int rank) {
  if (images.rank() < rank) {
    return InvalidArgument("input must be at least ", rank, "D, got shape ", images.shape());
  }
  const int64_t channels = images.dim(images.rank() - 1);
  if (channels == 3) return OkStatus();
  if (rank == 3) {
    return InvalidArgument("input must have 3 channels but instead has ", channels, " channels.");
  }
  return FailedPrecondition("input must have 3 channels but input only has ", channels,
                            " channels.");
}

Result<float> Factor(const Context& ctx, int i, std::string_view what) {
  if (ctx.input(i).rank() == 0) return ctx.input(i).scalar<float>();
  return InvalidArgument(what, " must be a scalar, got shape ", ctx.input(i).shape());
}

template <auto kConvert>
Status Convert(Context& ctx) {
  const Tensor& x = ctx.input(0);
  RETURN_IF_ERROR(CheckPixels(x, 1));
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
  return kConvert(ctx.work(), x.dtype(), x.num_elements() / 3, x.raw_data(), y->mutable_raw_data());
}

template <auto kAdjust>
Status Adjust(Context& ctx) {
  const Tensor& x = ctx.input(0);
  RETURN_IF_ERROR(CheckPixels(x, 3));
  ASSIGN_OR_RETURN(const float by, Factor(ctx, 1, "delta or scale"));
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
  return kAdjust(ctx.work(), x.num_elements() / 3, by, x.data<float>(), y->mutable_data<float>());
}

// x as floats, each channel of each image moved away from its mean.
Status Contrast(Context& ctx, const Tensor& x, float factor, Tensor* y) {
  if (x.num_elements() == 0) return OkStatus();
  const int rank = x.rank();
  const int64_t channels = x.dim(rank - 1), pixels = x.dim(rank - 2) * x.dim(rank - 3);
  return compute::ScaleContrast(ctx.work(), x.num_elements() / (channels * pixels), pixels,
                                channels, factor, x.data<float>(), y->mutable_data<float>());
}

Status AdjustContrast(Context& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.rank() < 3) return InvalidArgument("input must be at least 3-D, got shape", x.shape());
  ASSIGN_OR_RETURN(const float factor, Factor(ctx, 1, "contrast_factor"));
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
  return Contrast(ctx, x, factor, y);
}

// The first version: of any numbers, and cut off at a least and a greatest value.
Status AdjustAndClipContrast(Context& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.rank() < 3) return InvalidArgument("input must be at least 3-D, got shape", x.shape());
  ASSIGN_OR_RETURN(const float factor, Factor(ctx, 1, "contrast_factor"));
  ASSIGN_OR_RETURN(const float least, Factor(ctx, 2, "min_value"));
  ASSIGN_OR_RETURN(const float most, Factor(ctx, 3, "max_value"));
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, DType::kFloat, x.shape()));
  Tensor numbers = x;
  if (x.dtype() != DType::kFloat) {
    ASSIGN_OR_RETURN(numbers, Tensor::Allocate(ctx.allocator(), DType::kFloat, x.shape()));
    RETURN_IF_ERROR(compute::RunCast(ctx.work(), x.dtype(), DType::kFloat, x.num_elements(),
                                     x.raw_data(), numbers.mutable_raw_data()));
  }
  RETURN_IF_ERROR(Contrast(ctx, numbers, factor, y));
  return compute::Clip(ctx.work(), y->num_elements(), least, most, y->mutable_data<float>());
}

Status AdjustInYiq(Context& ctx) {
  const Tensor& x = ctx.input(0);
  RETURN_IF_ERROR(CheckPixels(x, 3));
  ASSIGN_OR_RETURN(const float hue, Factor(ctx, 1, "delta_h"));
  ASSIGN_OR_RETURN(const float saturation, Factor(ctx, 2, "scale_s"));
  ASSIGN_OR_RETURN(const float value, Factor(ctx, 3, "scale_v"));
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
  return compute::TurnColors(ctx.work(), x.num_elements() / 3,
                             compute::YiqMatrix(hue, saturation, value), x.data<float>(),
                             y->mutable_data<float>());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(color, cpu) {
  for (DType dtype : {DType::kBfloat16, DType::kHalf, DType::kFloat, DType::kDouble}) {
    registry.AddFunction<Convert<compute::RgbToHsv>>("RGBToHSV", kCpu, {{"T", dtype}});
    registry.AddFunction<Convert<compute::HsvToRgb>>("HSVToRGB", kCpu, {{"T", dtype}});
  }
  constexpr DType kReal = DType::kFloat;
  registry.AddFunction<Adjust<compute::TurnHue>>("AdjustHue", kCpu, {{"T", kReal}});
  registry.AddFunction<Adjust<compute::ScaleSaturation>>("AdjustSaturation", kCpu, {{"T", kReal}});
  for (DType dtype :
       {DType::kFloat, DType::kDouble, DType::kInt8, DType::kUint8, DType::kInt16, DType::kInt32}) {
    registry.AddFunction<AdjustAndClipContrast>("AdjustContrast", kCpu, {{"T", dtype}});
  }
  registry.AddFunction<AdjustContrast>("AdjustContrastv2", kCpu, {{"T", kReal}});
  registry.AddFunction<AdjustInYiq>("AdjustHsvInYiq", kCpu, {{"T", kReal}});
}
