// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "thalweg/compute/quantized/level_sums.h"
#include "thalweg/compute/quantized/requantize.h"
#include "thalweg/ops/quantized/range_inputs.h"

namespace thalweg {
namespace {

using compute::RealRange;

const int32_t* Levels(const Tensor& x) { return static_cast<const int32_t*>(x.raw_data()); }

Status RequantizationRange(Context& ctx) {
  const Tensor& x = ctx.input(0);
  ASSIGN_OR_RETURN(const RealRange range, LegacyRange(ctx, 1, "input"));
  SetRange(ctx, 0, compute::UsedRange(x.num_elements(), Levels(x), range));
  return OkStatus();
}

template <DType To>
Status ShrinkRange(Context& ctx) {
  const Tensor& x = ctx.input(0);
  ASSIGN_OR_RETURN(const RealRange range, ScalarRange(ctx, 1, "input"));
  const RealRange used = compute::UsedRange(x.num_elements(), Levels(x), range);
  SetRange(ctx, 1, used);
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, To, x.shape()));
  return compute::Requantize(ctx.work(), x.num_elements(), range, Levels(x), To, used,
                             y->mutable_raw_data());
}

template <DType To>
Status Requantize(Context& ctx) {
  const Tensor& x = ctx.input(0);
  ASSIGN_OR_RETURN(const RealRange range, ScalarRange(ctx, 1, "input"));
  ASSIGN_OR_RETURN(const RealRange wanted, ScalarRange(ctx, 3, "requested_output"));
  if (!(wanted.low <= 0)) {
    return InvalidArgument("requested_output_min must be <= 0, but got ", wanted.low);
  }
  if (!(wanted.high >= wanted.low)) {
    return InvalidArgument("requested_output_max must be >= requested_output_min, but got ",
                           wanted.high, " and ", wanted.low);
  }
  SetRange(ctx, 1, wanted);
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, To, x.shape()));
  return compute::Requantize(ctx.work(), x.num_elements(), range, Levels(x), To, wanted,
                             y->mutable_raw_data());
}

// What level 2^31 of each channel of NHWC levels means, from the ranges in inputs 1 and 2: vectors,
// or, where any_rank, as many numbers of any shape.
Result<std::vector<double>> ChannelScales(const Context& ctx, bool any_rank) {
  const Tensor& x = ctx.input(0);
  if (x.rank() != 4) {
    return InvalidArgument("levels with ranges of channels must be in NHWC format, got shape ",
                           x.shape());
  }
  const int64_t channels = x.dim(3);
  for (int i = 1; i < 3; ++i) {
    const Tensor& end = ctx.input(i);
    const int64_t n = end.num_elements();
    if ((any_rank ? end.rank() > 0 : end.rank() == 1) && (n == channels || n == 1) &&
        n == ctx.input(1).num_elements()) {
      continue;
    }
    return InvalidArgument(i == 1 ? "input_min" : "input_max", " has incorrect size, expected ",
                           channels, " was ", end.shape());
  }
  std::vector<double> scales;
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t at = ctx.input(1).num_elements() == 1 ? 0 : c;
    scales.push_back(std::max(std::abs(ctx.input(1).data<float>()[at]),
                              std::abs(ctx.input(2).data<float>()[at])));
  }
  return scales;
}

class ChannelRangeCpu : public Kernel {
 public:
  explicit ChannelRangeCpu(float clip) : clip_(clip) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const float clip, c.Attr<float>("clip_value_max"));
    return std::unique_ptr<Kernel>(std::make_unique<ChannelRangeCpu>(clip));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::vector<double> scales, ChannelScales(ctx, false));
    const Tensor& x = ctx.input(0);
    if (x.num_elements() == 0) return InvalidArgument("input must not be empty");
    const int64_t channels = x.dim(3);
    double most = 0;
    bool is_signed = false;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const double level = Levels(x)[i];
      is_signed = is_signed || level < 0;
      most = std::max(most, std::abs(level) * scales[static_cast<size_t>(i % channels)]);
    }
    const float high = std::min(clip_, static_cast<float>(most / 2147483648.0));
    SetRange(ctx, 0, {is_signed ? -high : 0, high});
    return OkStatus();
  }

 private:
  const float clip_;
};

template <DType To>
Status RequantizeChannels(Context& ctx) {
  ASSIGN_OR_RETURN(const std::vector<double> scales, ChannelScales(ctx, true));
  ASSIGN_OR_RETURN(const RealRange wanted, LegacyRange(ctx, 3, "requested_output"));
  if (To == DType::kQint8 && wanted.low == 0) {
    return InvalidArgument("qint8 needs a requested range with negative numbers, got from 0 to ",
                           wanted.high);
  }
  const Tensor& x = ctx.input(0);
  const double highest = static_cast<double>(compute::LevelsOf(To).highest);
  const double reach = std::max(std::abs(wanted.low), std::abs(wanted.high));
  std::vector<float> of_levels;
  for (double scale : scales) {
    of_levels.push_back(static_cast<float>(scale / 2147483648.0 * (highest / reach)));
  }
  const std::vector<float> shifts(of_levels.size());
  SetRange(ctx, 1, wanted);
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, To, x.shape()));
  if (y->num_elements() == 0) return OkStatus();
  const int64_t channels = x.dim(3);
  const compute::RequantizedSums to(
      ctx.work().isa(), {.channels = channels, .scales = of_levels.data(), .shifts = shifts.data()},
      To, y->mutable_raw_data());
  return compute::TakeSums(ctx.work(), x.num_elements() / channels, channels, Levels(x), to);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(requantize, cpu) {
  constexpr DType kFrom = DType::kQint32, kSigned = DType::kQint8, kUnsigned = DType::kQuint8;
  registry.AddFunction<ShrinkRange<kUnsigned>>("QuantizeDownAndShrinkRange", kCpu,
                                               {{"Tinput", kFrom}, {"out_type", kUnsigned}});
  registry.AddFunction<RequantizationRange>("RequantizationRange", kCpu, {{"Tinput", kFrom}});
  registry.Add<ChannelRangeCpu>("RequantizationRangePerChannel", kCpu, {{"T", kFrom}});
  registry.AddFunction<Requantize<kSigned>>("Requantize", kCpu,
                                            {{"Tinput", kFrom}, {"out_type", kSigned}});
  registry.AddFunction<Requantize<kUnsigned>>("Requantize", kCpu,
                                              {{"Tinput", kFrom}, {"out_type", kUnsigned}});
  registry.AddFunction<RequantizeChannels<kSigned>>("RequantizePerChannel", kCpu,
                                                    {{"T", kFrom}, {"out_type", kSigned}});
  registry.AddFunction<RequantizeChannels<kUnsigned>>("RequantizePerChannel", kCpu,
                                                      {{"T", kFrom}, {"out_type", kUnsigned}});
}
