// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "thalweg/compute/reduce/reduction.h"
#include "thalweg/devices/opencl/element_wise.h"
#include "thalweg/devices/opencl/opencl_kernel.h"
#include "thalweg/devices/opencl/reduction.h"
#include "thalweg/devices/opencl/register_kernels.h"
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

class ReduceOpenCl : public Kernel {
 public:
  ReduceOpenCl(OpenClReduction reduction, bool keep_dims, bool may_repeat)
      : reduction_(reduction), keep_dims_(keep_dims), may_repeat_(may_repeat) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool keep_dims, c.Attr<bool>("keep_dims"));
    ReduceTo what = ReduceTo::kSum;
    for (const ReduceOfOp& known : kReduceOps) {
      if (known.op == c.node().op_name()) what = known.what;
    }
    ASSIGN_OR_RETURN(const OpenClReduction reduction, OpenClReduction::Make(OpenClOf(c), what));
    return std::unique_ptr<Kernel>(
        std::make_unique<ReduceOpenCl>(reduction, keep_dims, TakesAxesTwice(c.node().graph())));
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
    return reduction_.Run(OpenClOf(ctx), x, axes, *y);
  }

 private:
  const OpenClReduction reduction_;
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

class BiasAddOpenCl : public Kernel {
 public:
  BiasAddOpenCl(ElementWise add, bool channels_first)
      : add_(add), channels_first_(channels_first) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool channels_first, ChannelsFirst(c));
    ASSIGN_OR_RETURN(const ElementWise add,
                     ElementWise::Make(OpenClOf(c), {"float", "float"}, "float", "x0 + x1"));
    return std::unique_ptr<Kernel>(std::make_unique<BiasAddOpenCl>(add, channels_first));
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
    return add_.Run(OpenClOf(ctx).queue(), broadcast, {&x, &bias}, *y);
  }

 private:
  const ElementWise add_;
  const bool channels_first_;
};

class BiasAddGradOpenCl : public Kernel {
 public:
  BiasAddGradOpenCl(OpenClReduction sum, bool channels_first)
      : sum_(sum), channels_first_(channels_first) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool channels_first, ChannelsFirst(c));
    ASSIGN_OR_RETURN(const OpenClReduction sum, OpenClReduction::Make(OpenClOf(c), ReduceTo::kSum));
    return std::unique_ptr<Kernel>(std::make_unique<BiasAddGradOpenCl>(sum, channels_first));
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
    return sum_.Run(OpenClOf(ctx), grad, axes, *sums);
  }

 private:
  const OpenClReduction sum_;
  const bool channels_first_;
};

}  // namespace

void AddReduceKernels(KernelAdder& adder) {
  for (const DType index : {DType::kInt32, DType::kInt64}) {
    for (const ReduceOfOp& known : kReduceOps) {
      const bool of_bool = known.what == ReduceTo::kAll || known.what == ReduceTo::kAny;
      KernelAdder::TypeList types = {{"Tidx", index}};
      if (!of_bool) types.emplace_back("T", DType::kFloat);
      adder.AddLimited<ReduceOpenCl::Create>(known.op, std::move(types), {"reduction_indices"});
    }
  }
  adder.AddLimited<BiasAddOpenCl::Create>("BiasAdd", {{"T", DType::kFloat}});
  adder.AddLimited<BiasAddOpenCl::Create>("BiasAddV1", {{"T", DType::kFloat}});
  adder.AddLimited<BiasAddGradOpenCl::Create>("BiasAddGrad", {{"T", DType::kFloat}});
}

}  // namespace thalweg
