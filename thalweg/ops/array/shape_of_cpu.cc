// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

template <class Out>
Status CheckFits(int64_t value, std::string_view what) {
  if (value <= std::numeric_limits<Out>::max()) return OkStatus();
  return InvalidArgument(what, " ", value, " does not fit into ", kDTypeOf<Out>,
                         " (ask for out_type int64)");
}

template <class Out>
Status ShapeOfInputs(Context& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Shape shape = ctx.input(i).shape();
    ASSIGN_OR_RETURN(Tensor * out,
                     ctx.AllocateOutput(i, kDTypeOf<Out>, Shape{int64_t{shape.rank()}}));
    Out* values = out->mutable_data<Out>();
    for (int d = 0; d < shape.rank(); ++d) {
      RETURN_IF_ERROR(CheckFits<Out>(shape.dim(d), "dimension"));
      values[d] = static_cast<Out>(shape.dim(d));
    }
  }
  return OkStatus();
}

template <class Out>
Status SizeOfInput(Context& ctx) {
  const int64_t size = ctx.input(0).num_elements();
  RETURN_IF_ERROR(CheckFits<Out>(size, "size"));
  ctx.set_output(0, Tensor::Scalar(static_cast<Out>(size)));
  return OkStatus();
}

Status RankOfInput(Context& ctx) {
  ctx.set_output(0, Tensor::Scalar<int32_t>(ctx.input(0).rank()));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(shape_of, cpu) {
  ForEachType<Types<int32_t, int64_t>>([&]<class Out>() {
    constexpr KernelType kOnly = {"out_type", kDTypeOf<Out>};
    registry.AddFunction<ShapeOfInputs<Out>>("Shape", kCpu, {kOnly}).Cost(KernelCost::kCheap);
    registry.AddFunction<ShapeOfInputs<Out>>("ShapeN", kCpu, {kOnly}).Cost(KernelCost::kCheap);
    registry.AddFunction<SizeOfInput<Out>>("Size", kCpu, {kOnly}).Cost(KernelCost::kCheap);
  });
  registry.AddFunction<RankOfInput>("Rank", kCpu).Cost(KernelCost::kCheap);
}
