// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/colour.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status CheckPixels(const Tensor& images, int rank) {
  if (images.rank() >= rank && images.dim(images.rank() - 1) == 3) return OkStatus();
  return InvalidArgument("images must have ", rank,
                         " dimensions at least and 3 channels in the last, got shape ",
                         images.shape());
}

Result<float> Factor(const Context& ctx, std::string_view what) {
  if (ctx.input(1).rank() == 0) return ctx.input(1).scalar<float>();
  return InvalidArgument(what, " must be a scalar, got shape ", ctx.input(1).shape());
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
  ASSIGN_OR_RETURN(const float by, Factor(ctx, "delta or scale"));
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
  return kAdjust(ctx.work(), x.num_elements() / 3, by, x.data<float>(), y->mutable_data<float>());
}

Status AdjustContrast(Context& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.rank() < 3) return InvalidArgument("input must be at least 3-D, got shape", x.shape());
  ASSIGN_OR_RETURN(const float factor, Factor(ctx, "contrast_factor"));
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), x.shape()));
  if (x.num_elements() == 0) return OkStatus();
  const int rank = x.rank();
  const int64_t channels = x.dim(rank - 1), pixels = x.dim(rank - 2) * x.dim(rank - 3);
  return compute::ScaleContrast(ctx.work(), x.num_elements() / (channels * pixels), pixels,
                                channels, factor, x.data<float>(), y->mutable_data<float>());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(colour, cpu) {
  for (DType dtype : {DType::kBfloat16, DType::kHalf, DType::kFloat, DType::kDouble}) {
    registry.AddFunction<Convert<compute::RgbToHsv>>("RGBToHSV", kCpu, {{"T", dtype}});
    registry.AddFunction<Convert<compute::HsvToRgb>>("HSVToRGB", kCpu, {{"T", dtype}});
  }
  constexpr DType kReal = DType::kFloat;
  registry.AddFunction<Adjust<compute::TurnHue>>("AdjustHue", kCpu, {{"T", kReal}});
  registry.AddFunction<Adjust<compute::ScaleSaturation>>("AdjustSaturation", kCpu, {{"T", kReal}});
  registry.AddFunction<AdjustContrast>("AdjustContrastv2", kCpu, {{"T", kReal}});
}
