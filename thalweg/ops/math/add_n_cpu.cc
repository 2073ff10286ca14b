// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/element_wise.h"
#include "thalweg/resources/tensor_list.h"

namespace thalweg {
namespace {

Status ShapesError(const Context& ctx, const std::string& node, int i) {
  return InvalidArgument("Inputs to operation ", node,
                         " of type AddN must have the same size "
                         "and shape.  Input 0: ",
                         ctx.input(0).shape(), " != input ", i, ": ", ctx.input(i).shape());
}

// Added from left to right, in the buffer of the first input where it may be taken.
Status AddN(Context& ctx, const std::string& node) {
  const Shape shape = ctx.input(0).shape();
  const DType dtype = ctx.input(0).dtype();
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).shape() != shape) {
      return ShapesError(ctx, node, i);
    }
  }
  if (ctx.num_inputs() == 1) {
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }
  const void* first = ctx.input(0).raw_data();
  ASSIGN_OR_RETURN(Tensor * sum, ctx.TakeOrAllocateOutput({0}, 0, dtype, shape));
  const auto dense = compute::Broadcast::Dense(shape.num_elements(), 2);
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    RETURN_IF_ERROR(compute::RunBinary(ctx.work(), compute::BinaryOp::kAdd, dtype, dense,
                                       i == 1 ? first : sum->raw_data(), ctx.input(i).raw_data(),
                                       sum->mutable_raw_data()));
  }
  return OkStatus();
}

// Lists and optionals, element by element.
Status AddVariantsN(Context& ctx, const std::string& node) {
  Tensor sum = ctx.input(0);
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).shape() != sum.shape()) {
      return ShapesError(ctx, node, i);
    }
    ASSIGN_OR_RETURN(sum, AddVariants(ctx, sum, ctx.input(i)));
  }
  ctx.set_output(0, std::move(sum));
  return OkStatus();
}

template <Status (*kAdd)(Context&, const std::string&)>
class AddNCpu : public Kernel {
 public:
  explicit AddNCpu(const KernelConstruction& c) : node_(c.node().name()) {}
  Status Compute(Context& ctx) override { return kAdd(ctx, node_); }

 private:
  const std::string node_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(add_n, cpu) {
  registry.Add<AddNCpu<AddVariantsN>>("AddN", kCpu, {{"T", DType::kVariant}});
  for (DType dtype : kNumbers) {
    registry.Add<AddNCpu<AddN>>("AddN", kCpu, {{"T", dtype}});
    registry.Add<AddNCpu<AddN>>("AccumulateNV2", kCpu, {{"T", dtype}});
  }
}
