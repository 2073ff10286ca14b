// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "thalweg/compute/reduce/reduction.h"
#include "thalweg/devices/gpu/element_wise.h"
#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/reduction.h"
#include "thalweg/devices/gpu/register_kernels.h"
#include "thalweg/graph/reduction_axes.h"

namespace thalweg {
namespace {

struct ReduceOfOp {
  std::string_view op;
  ReduceTo what;
};
constexpr auto kReduceOps = std::to_array<ReduceOfOp>({{"Sum", ReduceTo::kSum},
                                                       {"Mean", ReduceTo::kMean},
                                                       {"Max", ReduceTo::kMax},
                                                       {"Min", ReduceTo::kMin},
                                                       {"Prod", ReduceTo::kProd},
                                                       {"All", ReduceTo::kAll},
                                                       {"Any", ReduceTo::kAny}});

class ReduceGpu : public Kernel {
 public:
  ReduceGpu(GpuReduction reduction, bool keep_dims, bool may_repeat)
      : reduction_(reduction), keep_dims_(keep_dims), may_repeat_(may_repeat) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool keep_dims, c.Attr<bool>("keep_dims"));
    ReduceTo what = ReduceTo::kSum;
    for (const ReduceOfOp& known : kReduceOps) {
      if (known.op == c.node().op_name()) what = known.what;
    }
    ASSIGN_OR_RETURN(const GpuReduction reduction, GpuReduction::Make(GpuOf(c), what));
    return std::unique_ptr<Kernel>(
        std::make_unique<ReduceGpu>(reduction, keep_dims, TakesAxesTwice(c.node().graph())));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape shape = x.shape();
    ASSIGN_OR_RETURN(const Dims axes, ReductionAxes(ctx.input(1), shape.rank(), may_repeat_));
    if (axes.size() == 0) {
      ctx.set_output(0, x);
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const compute::Reduction reduction,
                     compute::Reduction::Make(shape.dims(), axes));
    ASSIGN_OR_RETURN(Tensor * y,
                     ctx.AllocateOutput(0, x.dtype(), Shape(reduction.OutputDims(keep_dims_))));
    return reduction_.Run(GpuOf(ctx), x, axes, *y);
  }

 private:
  const GpuReduction reduction_;
  const bool keep_dims_;
  const bool may_repeat_;
};

// Which dimension of a bias's neighbor is the channels'.
Result<bool> ChannelsFirst(const KernelConstruction& c) {
  if (c.node().FindAttr("data_format") == nullptr) return false;
  const Result<std::string> format = c.Attr<std::string>("data_format");
  if (!format.ok()) return format.status();
  if (*format == "NHWC" || *format == "NCHW") return *format == "NCHW";
  return Unimplemented("data_format ", *format, " has no kernel here; NHWC and NCHW have");
}

class BiasAddGpu : public Kernel {
 public:
  BiasAddGpu(ElementWise add, bool channels_first) : add_(add), channels_first_(channels_first) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool channels_first, ChannelsFirst(c));
    ASSIGN_OR_RETURN(const ElementWise add,
                     ElementWise::Make(GpuOf(c), {"float", "float"}, "float", "x0 + x1"));
    return std::unique_ptr<Kernel>(std::make_unique<BiasAddGpu>(add, channels_first));
  }
  Status Compute(Context& ctx) override {
    const Tensor &x = ctx.input(0), &bias = ctx.input(1);
    const Shape shape = x.shape();
    if (shape.rank() < 2) return InvalidArgument("Input tensor must be at least 2D: ", shape);
    const int channel = channels_first_ ? 1 : shape.rank() - 1;
    if (bias.rank() != 1) return InvalidArgument("Biases must be 1D: ", bias.shape());
    if (bias.dim(0) != shape.dim(channel)) {
      return InvalidArgument("Must provide as many biases as the channels of the input tensor: ",
                             bias.shape(), " vs. ", shape);
    }
    Dims dims = {bias.dim(0)};
    dims.resize(shape.rank() - channel, 1);
    ASSIGN_OR_RETURN(const auto broadcast, compute::Broadcast::Make({shape.dims(), dims}));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), shape));
    return add_.Run(GpuOf(ctx).queue(), broadcast, {&x, &bias}, *y);
  }

 private:
  const ElementWise add_;
  const bool channels_first_;
};

class BiasAddGradGpu : public Kernel {
 public:
  BiasAddGradGpu(GpuReduction sum, bool channels_first)
      : sum_(sum), channels_first_(channels_first) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool channels_first, ChannelsFirst(c));
    ASSIGN_OR_RETURN(const GpuReduction sum, GpuReduction::Make(GpuOf(c), ReduceTo::kSum));
    return std::unique_ptr<Kernel>(std::make_unique<BiasAddGradGpu>(sum, channels_first));
  }
  Status Compute(Context& ctx) override {
    const Tensor& grad = ctx.input(0);
    const Shape shape = grad.shape();
    if (shape.rank() < 2) {
      return InvalidArgument("out_backprop must have at least two dimensions, got ", shape);
    }
    const int channel = channels_first_ ? 1 : shape.rank() - 1;
    Dims axes;
    for (int d = 0; d < shape.rank(); ++d) {
      if (d != channel) axes.push_back(d);
    }
    ASSIGN_OR_RETURN(Tensor * sums, ctx.AllocateOutput(0, grad.dtype(), Shape{shape.dim(channel)}));
    return sum_.Run(GpuOf(ctx), grad, axes, *sums);
  }

 private:
  const GpuReduction sum_;
  const bool channels_first_;
};

}  // namespace

void AddReduceKernels(KernelAdder& adder) {
  for (const DType index : {DType::kInt32, DType::kInt64}) {
    for (const ReduceOfOp& known : kReduceOps) {
      const bool of_bool = known.what == ReduceTo::kAll || known.what == ReduceTo::kAny;
      KernelAdder::TypeList types = {{"Tidx", index}};
      if (!of_bool) types.emplace_back("T", DType::kFloat);
      adder.AddLimited<ReduceGpu::Create>(known.op, std::move(types), {"reduction_indices"});
    }
  }
  adder.AddLimited<BiasAddGpu::Create>("BiasAdd", {{"T", DType::kFloat}});
  adder.AddLimited<BiasAddGpu::Create>("BiasAddV1", {{"T", DType::kFloat}});
  adder.AddLimited<BiasAddGradGpu::Create>("BiasAddGrad", {{"T", DType::kFloat}});
}

}  // namespace thalweg
