// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/rows.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

// The value of the variable, which must have the type that the node says.
Result<Tensor> ReadAs(Context& ctx, DType dtype) {
  ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
  ASSIGN_OR_RETURN(Tensor value, variable->Read());
  if (value.dtype() == dtype) return value;
  return InvalidArgument("variable '", variable->name(), "' has type ", value.dtype(),
                         ", this node says ", dtype);
}

class ResourceGatherCpu : public Kernel {
 public:
  ResourceGatherCpu(int64_t batch_dims, DType dtype) : batch_dims_(batch_dims), dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t batch_dims, c.Attr<int64_t>("batch_dims"));
    return std::unique_ptr<Kernel>(
        std::make_unique<ResourceGatherCpu>(batch_dims, c.output_type(0)));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Tensor params, ReadAs(ctx, dtype_));
    return GatherOutput(ctx, params, ctx.input(1), batch_dims_, batch_dims_);
  }

 private:
  const int64_t batch_dims_;
  const DType dtype_;
};

class ResourceGatherNdCpu : public Kernel {
 public:
  explicit ResourceGatherNdCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Tensor params, ReadAs(ctx, dtype_));
    return GatherNdOutput(ctx, params, ctx.input(1), false);
  }

 private:
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(resource_gather, cpu) {
  registry.Add<ResourceGatherCpu>("ResourceGather", kCpu);
  registry.Add<ResourceGatherNdCpu>("ResourceGatherNd", kCpu);
}
