// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/ops/quantized/range_inputs.h"

namespace thalweg {
namespace {

using compute::GridShape;
using compute::QuantizeMode;
using compute::QuantizeRule;
using compute::RealRange;

// What both operations read from their attributes.
class RangedKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(axis_, c.Attr<int64_t>("axis"));
    if (axis_ < -1) return InvalidArgument("axis should be at least -1, got ", axis_);
    ASSIGN_OR_RETURN(const std::string mode, c.Attr<std::string>("mode"));
    rule_.mode = mode == "SCALED"      ? QuantizeMode::kScaled
                 : mode == "MIN_FIRST" ? QuantizeMode::kMinFirst
                                       : QuantizeMode::kMinCombined;
    ASSIGN_OR_RETURN(rule_.narrow, c.Attr<bool>("narrow_range"));
    if (axis_ == -1 || rule_.mode != QuantizeMode::kMinFirst) return OkStatus();
    return Unimplemented("MIN_FIRST mode is not implemented for axis != -1");
  }

 protected:
  Result<GridShape> Channels(const Tensor& x) const {
    GridShape channels{.inner = x.num_elements()};
    if (axis_ == -1) return channels;
    if (axis_ >= x.rank()) {
      return InvalidArgument("axis must be less than the input's rank, ", x.rank(), ", got ",
                             axis_);
    }
    const Shape shape = x.shape();
    const int at = static_cast<int>(axis_);
    channels = {.channels = shape.dim(at)};
    for (int d = 0; d < at; ++d) channels.outer *= shape.dim(d);
    for (int d = at + 1; d < shape.rank(); ++d) channels.inner *= shape.dim(d);
    return channels;
  }

  // One range for each channel, from inputs 1 and 2.
  Result<std::vector<RealRange>> Ranges(const Context& ctx, int64_t channels) const {
    for (int i = 1; i < 3; ++i) {
      const Tensor& end = ctx.input(i);
      if (end.num_elements() == channels && (axis_ == -1 || end.rank() == 1)) continue;
      return InvalidArgument(
          i == 1 ? "min_range" : "max_range", " must have ", channels,
          axis_ == -1 ? " element without an axis" : " elements in one dimension", ", got shape ",
          end.shape());
    }
    std::vector<RealRange> ranges;
    for (int64_t i = 0; i < channels; ++i) {
      ranges.push_back({ctx.input(1).data<float>()[i], ctx.input(2).data<float>()[i]});
    }
    return ranges;
  }

  int64_t axis_ = -1;
  QuantizeRule rule_;
};

class QuantizeCpu : public RangedKernel {
 public:
  explicit QuantizeCpu(DType type) : type_(type) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<QuantizeCpu>(c.output_type(0));
    RETURN_IF_ERROR(kernel->Read(c));
    ASSIGN_OR_RETURN(const std::string rounding, c.Attr<std::string>("round_mode"));
    kernel->rule_.half_to_even = rounding == "HALF_TO_EVEN";
    if (kernel->rule_.half_to_even && kernel->rule_.mode != QuantizeMode::kScaled) {
      return InvalidArgument("Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED'");
    }
    ASSIGN_OR_RETURN(kernel->least_, c.Attr<float>("ensure_minimum_range"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const GridShape channels, Channels(x));
    ASSIGN_OR_RETURN(const std::vector<RealRange> ranges, Ranges(ctx, channels.channels));
    const Shape ends = axis_ == -1 ? Shape{} : Shape{channels.channels};
    ASSIGN_OR_RETURN(Tensor * low, ctx.AllocateOutput(1, DType::kFloat, ends));
    ASSIGN_OR_RETURN(Tensor * high, ctx.AllocateOutput(2, DType::kFloat, ends));
    std::vector<compute::QuantizeGrid> grids;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].low > ranges[i].high) {
        return InvalidArgument("input_max_range must be larger than input_min_range, got ",
                               ranges[i].high, " and ", ranges[i].low);
      }
      grids.push_back(compute::MakeQuantizeGrid(rule_, type_, ranges[i], least_));
      low->mutable_data<float>()[i] = grids[i].range.low;
      high->mutable_data<float>()[i] = grids[i].range.high;
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, type_, x.shape()));
    return compute::Quantize(ctx.work(), type_, channels, grids.data(), x.data<float>(),
                             y->mutable_raw_data());
  }

 private:
  const DType type_;
  float least_ = 0;
};

class DequantizeCpu : public RangedKernel {
 public:
  explicit DequantizeCpu(DType to) : to_(to) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<DequantizeCpu>(c.output_type(0));
    RETURN_IF_ERROR(kernel->Read(c));
    if (kernel->to_ == DType::kBfloat16 && kernel->rule_.mode == QuantizeMode::kMinFirst) {
      return InvalidArgument("an output of bfloat16 has no mode MIN_FIRST");
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const GridShape channels, Channels(x));
    ASSIGN_OR_RETURN(const std::vector<RealRange> ranges, Ranges(ctx, channels.channels));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, to_, x.shape()));
    if (to_ == DType::kFloat) {
      return compute::Dequantize(ctx.work(), x.dtype(), rule_, channels, ranges.data(),
                                 x.raw_data(), y->mutable_data<float>());
    }
    ASSIGN_OR_RETURN(Tensor reals, ctx.AllocateTemporary(DType::kFloat, x.shape()));
    RETURN_IF_ERROR(compute::Dequantize(ctx.work(), x.dtype(), rule_, channels, ranges.data(),
                                        x.raw_data(), reals.mutable_data<float>()));
    return compute::RunCast(ctx.work(), DType::kFloat, to_, x.num_elements(), reals.raw_data(),
                            y->mutable_raw_data());
  }

 private:
  const DType to_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(quantize, cpu) {
  for (DType dtype :
       {DType::kQint8, DType::kQuint8, DType::kQint16, DType::kQuint16, DType::kQint32}) {
    registry.Add<QuantizeCpu>("QuantizeV2", kCpu, {{"T", dtype}});
    for (DType to : {DType::kFloat, DType::kBfloat16}) {
      registry.Add<DequantizeCpu>("Dequantize", kCpu, {{"T", dtype}, {"dtype", to}});
    }
  }
}
