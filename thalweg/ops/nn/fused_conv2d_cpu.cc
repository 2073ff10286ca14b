// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/kernel/element_wise.h"
#include "thalweg/kernel/fused_ops.h"
#include "thalweg/ops/nn/conv_kernel.h"

namespace thalweg {
namespace {

Status CheckChannels(const Tensor& v, int64_t channels, const char* name) {
  if (v.rank() == 1 && v.dim(0) == channels) return OkStatus();
  return InvalidArgument(name, " must have one element per output channel, ", channels,
                         ", got shape ", v.shape());
}

class FusedConv2DCpu : public ConvKernel {
 public:
  Status Compute(Context& ctx) override {
    Status status = Run(ctx);
    if (status.ok() || fused_from_.empty()) return status;
    return status.WithContext(fused_from_);
  }

 protected:
  Status Read(const KernelConstruction& c) {
    RETURN_IF_ERROR(ConvKernel::Read(c));
    ASSIGN_OR_RETURN(fused_, FusedOps::Parse(c, true));
    ASSIGN_OR_RETURN(epsilon_, c.Attr<float>("epsilon"));
    ASSIGN_OR_RETURN(const auto types, c.Attr<std::vector<DType>>("TArgs"));
    ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("T"));
    for (DType type : types) {
      if (type != dtype) return InvalidArgument("args must be ", dtype, ", got ", type);
    }
    ASSIGN_OR_RETURN(const std::string layout, c.Attr<std::string>("filter_format"));
    ASSIGN_OR_RETURN(const int64_t on_host, c.Attr<int64_t>("num_host_args"));
    if (layout != "HWIO" || on_host != 0) {
      return Unimplemented("filter_format ", layout, " with ", on_host, " host_args");
    }
    if (static_cast<int64_t>(types.size()) != fused_.args()) {
      return InvalidArgument("fused_ops need ", fused_.args(), " args, got ", types.size());
    }
    if (fused_.batch_norm && dtype != DType::kFloat) {
      return Unimplemented("a convolution of ", dtype, " fused with batch normalization");
    }
    if (c.node().FindAttr("_fused_from") != nullptr) {
      ASSIGN_OR_RETURN(fused_from_, c.Attr<std::string>("_fused_from"));
    }
    return OkStatus();
  }

 private:
  Status Run(Context& ctx) {
    const Tensor &image = ctx.input(0), &filter = ctx.input(1);
    ASSIGN_OR_RETURN(const auto sizes, ConvSizes(attrs_, image.shape(), filter.shape()));
    const Shape result = ConvOutputShape(sizes);
    const int64_t n = sizes.out_channels;
    compute::GemmEpilogue epilogue;
    epilogue.relu = fused_.relu;
    compute::Scratch<float> factor(ctx.work(), fused_.batch_norm ? n : 0);
    compute::Scratch<float> term(ctx.work(), fused_.batch_norm ? n : 0);
    if (!factor || !term) return compute::OutOfScratch();
    SessionFilterCache kept(weight_, ctx, {&filter, nullptr, nullptr});
    SessionFilterCache scaled(weight_, ctx,
                              {&filter, &ctx.input(2), &ctx.input(fused_.batch_norm ? 5 : 2)});
    if (fused_.bias) {
      RETURN_IF_ERROR(CheckChannels(ctx.input(2), n, "bias"));
      epilogue.bias = ctx.input(2).raw_data();
    }
    if (fused_.batch_norm) {
      RETURN_IF_ERROR(Fold(ctx, n, factor.get(), term.get()));
      epilogue.bias = term.get();
    }
    Tensor* y = nullptr;
    if (fused_.residual) {
      const int at = fused_.args() + 1;
      const Tensor& residual = ctx.input(at);
      if (residual.shape() != result) {
        return InvalidArgument("what is added must have the shape of the output, ",
                               result.ToString(), ", got ", residual.shape());
      }
      epilogue.residual = residual.raw_data();  // of the output's buffer when that is taken
      ASSIGN_OR_RETURN(y, ctx.TakeOrAllocateOutput({at}, 0, image.dtype(), result));
    } else {
      ASSIGN_OR_RETURN(y, ctx.AllocateOutput(0, image.dtype(), result));
    }
    const float* scale = fused_.batch_norm ? factor.get() : nullptr;
    RETURN_IF_ERROR(
        compute::Conv2D(ctx.work(), image.dtype(), sizes, image.raw_data(),
                        {filter.raw_data(), scale, KeeperOf(fused_.batch_norm ? scaled : kept)},
                        y->mutable_raw_data(), epilogue, &plans_));
    return fused_.Activate(ctx.work(), y);
  }

  // Normalizing as a factor of each output channel's filter and a bias.
  Status Fold(Context& ctx, int64_t n, float* factor, float* term) const {
    const char* names[] = {"scale", "offset", "mean", "variance"};
    const float* values[4];
    for (int i = 0; i < 4; ++i) {
      RETURN_IF_ERROR(CheckChannels(ctx.input(i + 2), n, names[i]));
      values[i] = ctx.input(i + 2).data<float>();
    }
    for (int64_t c = 0; c < n; ++c) {
      const double f = values[0][c] / std::sqrt(static_cast<double>(values[3][c]) + epsilon_);
      factor[c] = static_cast<float>(f);
      term[c] = static_cast<float>(values[1][c] - values[2][c] * f);
    }
    return OkStatus();
  }

  FusedOps fused_;
  float epsilon_ = 0;
  std::string fused_from_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fused_conv2d, cpu) {
  // The schema has no bfloat16.
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf}) {
    registry.Add<MadeConv<FusedConv2DCpu>>("_FusedConv2D", kCpu, {{"T", dtype}})
        .Cost(KernelCost::kExpensive);
  }
}
