// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/reduce.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/data_format.h"

namespace thalweg {
namespace {

template <class K>
Result<std::unique_ptr<Kernel>> MakeWithFormat(const KernelConstruction& c) {
  auto kernel = std::make_unique<K>();
  if (c.node().FindAttr("data_format") != nullptr) {
    ASSIGN_OR_RETURN(const std::string text, c.Attr<std::string>("data_format"));
    ASSIGN_OR_RETURN(const ImageFormat format, ParseImageFormat(text));
    kernel->channels_first = format.channels_first;
  }
  return std::unique_ptr<Kernel>(std::move(kernel));
}

struct BiasAddCpu : Kernel {
  static auto Create(const KernelConstruction& c) { return MakeWithFormat<BiasAddCpu>(c); }

  Status Compute(Context& ctx) override {
    const Tensor &x = ctx.input(0), &bias = ctx.input(1);
    const Shape shape = x.shape();
    if (shape.rank() < 2) {
      return InvalidArgument("Input tensor must be at least 2D: ", shape);
    }
    const int channel = channels_first ? 1 : shape.rank() - 1;
    if (bias.rank() != 1) return InvalidArgument("Biases must be 1D: ", bias.shape());
    if (bias.dim(0) != shape.dim(channel)) {
      return InvalidArgument(
          "Must provide as many biases as the last dimension of the input tensor: ", bias.shape(),
          " vs. ", shape.ToString());
    }
    Dims dims = {bias.dim(0)};
    dims.resize(shape.rank() - channel, 1);
    ASSIGN_OR_RETURN(const auto broadcast, compute::Broadcast::Make({shape.dims(), dims}));
    const DType dtype = x.dtype();
    const void* data = x.raw_data();
    ASSIGN_OR_RETURN(Tensor * y, ctx.TakeOrAllocateOutput({0}, 0, dtype, shape));
    return compute::RunBinary(ctx.work(), compute::BinaryOp::kAdd, dtype, broadcast, data,
                              bias.raw_data(), y->mutable_raw_data());
  }

  bool channels_first = false;
};

struct BiasAddGradCpu : Kernel {
  static auto Create(const KernelConstruction& c) { return MakeWithFormat<BiasAddGradCpu>(c); }

  Status Compute(Context& ctx) override {
    const Tensor& grad = ctx.input(0);
    const Shape shape = grad.shape();
    if (shape.rank() < 2) {
      return InvalidArgument("out_backprop must have at least two dimensions, got ",
                             shape.ToString());
    }
    const int channel = channels_first ? 1 : shape.rank() - 1;
    Dims axes;
    for (int d = 0; d < shape.rank(); ++d) {
      if (d != channel) axes.push_back(d);
    }
    ASSIGN_OR_RETURN(const auto reduction, compute::Reduction::Make(shape.dims(), axes));
    ASSIGN_OR_RETURN(Tensor * sums, ctx.AllocateOutput(0, grad.dtype(), Shape{shape.dim(channel)}));
    return compute::Reduce(ctx.work(), compute::ReduceOp::kSum, grad.dtype(), reduction,
                           grad.raw_data(), sums->mutable_raw_data());
  }

  bool channels_first = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(bias_add, cpu) {
  for (DType dtype : kNumbers) {
    registry.Add<BiasAddCpu>("BiasAdd", kCpu, {{"T", dtype}});
    registry.Add<BiasAddCpu>("BiasAddV1", kCpu, {{"T", dtype}});
    registry.Add<BiasAddGradCpu>("BiasAddGrad", kCpu, {{"T", dtype}});
  }
}
