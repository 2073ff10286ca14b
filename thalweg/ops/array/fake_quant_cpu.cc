// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "thalweg/compute/ew/quantize.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

using compute::FakeQuantGrid;

struct Spec {
  int bits = 8;
  bool narrow = false;
};
Result<Spec> SpecOf(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const int64_t bits, c.Attr<int64_t>("num_bits"));
  ASSIGN_OR_RETURN(const bool narrow, c.Attr<bool>("narrow_range"));
  if (bits < 2 || bits > 16) {
    return InvalidArgument("num_bits must be between 2 and 16, inclusive, got ", bits);
  }
  return Spec{static_cast<int>(bits), narrow};
}

Status CheckSameShape(const Tensor& gradients, const Tensor& inputs) {
  if (gradients.shape() == inputs.shape()) return OkStatus();
  return InvalidArgument("gradient and input must be the same size, got ", gradients.shape(),
                         " and ", inputs.shape());
}

// The range is a pair of attributes; with kGrad the inputs are gradients and inputs.
template <bool kGrad>
class FakeQuantArgsCpu : public Kernel {
 public:
  explicit FakeQuantArgsCpu(FakeQuantGrid grid) : grid_(grid) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const Spec spec, SpecOf(c));
    ASSIGN_OR_RETURN(const float from, c.Attr<float>("min"));
    ASSIGN_OR_RETURN(const float to, c.Attr<float>("max"));
    if (!(from < to)) {
      return InvalidArgument("min has to be smaller than max, was: ", from, " >= ", to);
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<FakeQuantArgsCpu<kGrad>>(FakeQuantGrid(from, to, spec.bits, spec.narrow)));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(kGrad ? 1 : 0);
    if (kGrad) RETURN_IF_ERROR(CheckSameShape(ctx.input(0), x));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kFloat, x.shape()));
    const int64_t n = x.num_elements();
    if (!kGrad) {
      return compute::FakeQuant(ctx.work(), &grid_, n, 1, x.data<float>(),
                                out->mutable_data<float>());
    }
    return compute::FakeQuantGrad(ctx.work(), &grid_, n, 1, ctx.input(0).data<float>(),
                                  x.data<float>(), out->mutable_data<float>(), nullptr, nullptr);
  }

 private:
  const FakeQuantGrid grid_;
};

// The range is a pair of inputs: scalars, or vectors with an entry for each channel.
template <bool kPerChannel, bool kGrad>
class FakeQuantVarsCpu : public Kernel {
 public:
  explicit FakeQuantVarsCpu(Spec spec) : spec_(spec) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const Spec spec, SpecOf(c));
    return std::unique_ptr<Kernel>(std::make_unique<FakeQuantVarsCpu<kPerChannel, kGrad>>(spec));
  }

  Status Compute(Context& ctx) override {
    constexpr int kX = kGrad ? 1 : 0;
    const Tensor& x = ctx.input(kX);
    if (kGrad) RETURN_IF_ERROR(CheckSameShape(ctx.input(0), x));
    ASSIGN_OR_RETURN(const int64_t channels, ChannelsOf(x));
    std::vector<FakeQuantGrid> grids;
    RETURN_IF_ERROR(GridsOf(ctx.input(kX + 1), ctx.input(kX + 2), channels, &grids));
    const int64_t rows = channels == 0 ? 0 : x.num_elements() / channels;
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kFloat, x.shape()));
    if (!kGrad) {
      return compute::FakeQuant(ctx.work(), grids.data(), rows, channels, x.data<float>(),
                                out->mutable_data<float>());
    }
    Tensor* ends[2];
    for (int i = 0; i < 2; ++i) {
      ASSIGN_OR_RETURN(ends[i],
                       ctx.AllocateOutput(i + 1, DType::kFloat, ctx.input(kX + 1).shape()));
    }
    return compute::FakeQuantGrad(
        ctx.work(), grids.data(), rows, channels, ctx.input(0).data<float>(), x.data<float>(),
        out->mutable_data<float>(), ends[0]->mutable_data<float>(), ends[1]->mutable_data<float>());
  }

 private:
  static Result<int64_t> ChannelsOf(const Tensor& x) {
    if (!kPerChannel) return 1;
    if (x.rank() > 0) return x.dim(x.rank() - 1);
    return InvalidArgument("inputs must have at least one dimension, got a scalar");
  }

  Status GridsOf(const Tensor& low, const Tensor& high, int64_t channels,
                 std::vector<FakeQuantGrid>* grids) const {
    for (const Tensor* range : {&low, &high}) {
      if (range->rank() == (kPerChannel ? 1 : 0) && range->num_elements() == channels) continue;
      return InvalidArgument(range == &low ? "min" : "max", " has incorrect size, expected ",
                             channels, kPerChannel ? " elements" : " element of a scalar",
                             ", got shape ", range->shape());
    }
    for (int64_t c = 0; c < channels; ++c) {
      grids->emplace_back(low.data<float>()[c], high.data<float>()[c], spec_.bits, spec_.narrow);
    }
    return OkStatus();
  }

  const Spec spec_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fake_quant, cpu) {
  registry.Add<FakeQuantArgsCpu<false>>("FakeQuantWithMinMaxArgs", kCpu);
  registry.Add<FakeQuantArgsCpu<true>>("FakeQuantWithMinMaxArgsGradient", kCpu);
  registry.Add<FakeQuantVarsCpu<false, false>>("FakeQuantWithMinMaxVars", kCpu);
  registry.Add<FakeQuantVarsCpu<false, true>>("FakeQuantWithMinMaxVarsGradient", kCpu);
  registry.Add<FakeQuantVarsCpu<true, false>>("FakeQuantWithMinMaxVarsPerChannel", kCpu);
  registry.Add<FakeQuantVarsCpu<true, true>>("FakeQuantWithMinMaxVarsPerChannelGradient", kCpu);
}
