// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/reduce.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::ReduceOp;

// The axes from the front; InvalidArgument when one is out of range or given twice.
Result<Dims> AxesOf(const Tensor& axes, int rank) {
  if (axes.rank() > 1) {
    return InvalidArgument("reduction_indices must be a scalar or a vector, got shape ",
                           axes.shape());
  }
  Dims found;
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    ASSIGN_OR_RETURN(const int axis, NormaliseAxis(IntAt(axes, i), rank, "reduction axis"));
    if (std::find(found.begin(), found.end(), axis) != found.end()) {
      return InvalidArgument("reduction axis ", axis, " is given twice");
    }
    found.push_back(axis);
  }
  return found;
}

template <ReduceOp Op>
class ReduceCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<ReduceCpu>();
    ASSIGN_OR_RETURN(kernel->keep_dims_, c.Attr<bool>("keep_dims"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape shape = x.shape();
    ASSIGN_OR_RETURN(const Dims axes, AxesOf(ctx.input(1), shape.rank()));
    ASSIGN_OR_RETURN(const compute::Reduction reduction,
                     compute::Reduction::Make(shape.dims(), axes));
    ASSIGN_OR_RETURN(Tensor * y,
                     ctx.AllocateOutput(0, x.dtype(), Shape(reduction.OutputDims(keep_dims_))));
    return compute::Reduce(ctx.work(), Op, x.dtype(), reduction, x.raw_data(),
                           y->mutable_raw_data());
  }

 private:
  bool keep_dims_ = false;
};

template <ReduceOp Op>
void AddReduce(KernelRegistry& registry, std::string_view op, DTypeList types) {
  for (DType dtype : types) {
    if (compute::HasReduce(Op, dtype)) registry.Add<ReduceCpu<Op>>(op, kCpu, {{"T", dtype}});
  }
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(reduce, cpu) {
  AddReduce<ReduceOp::kSum>(registry, "Sum", kNumbers);
  AddReduce<ReduceOp::kMean>(registry, "Mean", kNumbers);
  AddReduce<ReduceOp::kProd>(registry, "Prod", kNumbers);
  AddReduce<ReduceOp::kMax>(registry, "Max", kReals);
  AddReduce<ReduceOp::kMin>(registry, "Min", kReals);
  registry.Add<ReduceCpu<ReduceOp::kAll>>("All", kCpu);
  registry.Add<ReduceCpu<ReduceOp::kAny>>("Any", kCpu);
}
