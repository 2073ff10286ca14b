// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/reduce.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

class ArgCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<ArgCpu>();
    ASSIGN_OR_RETURN(kernel->out_type_, c.Attr<DType>("output_type"));
    kernel->op_ = c.node().op_name() == "ArgMax" ? compute::ArgOp::kMax : compute::ArgOp::kMin;
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape shape = x.shape();
    ASSIGN_OR_RETURN(const int64_t given, IntScalar(ctx.input(1), "dimension"));
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, shape.rank(), "dimension"));
    Dims dims = shape.dims();
    dims.erase(axis);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, out_type_, Shape(dims)));
    if (Shape(dims).num_elements() == 0) return OkStatus();
    if (shape.dim(axis) == 0) {
      return InvalidArgument("Reduction axis ", axis, " is empty in shape ", shape);
    }
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < axis; ++d) outer *= shape.dim(d);
    for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape.dim(d);
    return compute::Arg(ctx.work(), op_, x.dtype(), outer, shape.dim(axis), inner, x.raw_data(),
                        out_type_, y->mutable_raw_data());
  }

 private:
  DType out_type_ = DType::kInt64;
  compute::ArgOp op_ = compute::ArgOp::kMax;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(arg, cpu) {
  const auto add = [&](const char* op, DTypeList out_types) {
    for (DType out : out_types) {
      for (DType dtype : kReals) {
        registry.Add<ArgCpu>(op, kCpu, {{"T", dtype}, {"output_type", out}});
      }
      registry.Add<ArgCpu>(op, kCpu, {{"T", DType::kBool}, {"output_type", out}});
    }
  };
  add("ArgMax", {DType::kInt64, DType::kInt32, DType::kInt16, DType::kUint16});
  add("ArgMin", {DType::kInt64, DType::kInt32});
}
