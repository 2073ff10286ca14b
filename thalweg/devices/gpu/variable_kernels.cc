// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/element_wise.h"
#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/register_kernels.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

class AssignGpu : public Kernel {
 public:
  explicit AssignGpu(bool validate_shape) : validate_shape_(validate_shape) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool validate, c.Attr<bool>("validate_shape"));
    return std::unique_ptr<Kernel>(std::make_unique<AssignGpu>(validate));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    MutexLock lock(GpuOf(ctx).updates());  // else an update that has read puts the former back
    // Nobody writes into a variable's tensor here, so that it may be anybody's.
    return variable->Assign(ctx.input(1), validate_shape_);
  }

 private:
  const bool validate_shape_;
};

class AddToVariable : public Kernel {
 public:
  explicit AddToVariable(ElementWise add) : add_(add) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const std::string type = GpuTypeName(c.input_type(1));
    const bool subtracts = c.node().op_name() == "AssignSubVariableOp";
    ASSIGN_OR_RETURN(const ElementWise add, ElementWise::Make(GpuOf(c), {type, type}, type,
                                                              subtracts ? "x0 - x1" : "x0 + x1"));
    return std::unique_ptr<Kernel>(std::make_unique<AddToVariable>(add));
  }
  Status Compute(Context& ctx) override {
    GpuDevice& device = GpuOf(ctx);
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    const Tensor& value = ctx.input(1);
    MutexLock lock(device.updates());
    ASSIGN_OR_RETURN(const Tensor old, variable->Read());
    if (old.dtype() != value.dtype() || old.shape() != value.shape()) {
      return InvalidArgument("Parameters and update must be the same size: variable '",
                             variable->name(), "' is ", old.dtype(), old.shape(), ", got a value ",
                             value.dtype(), value.shape());
    }
    ASSIGN_OR_RETURN(Tensor sum, device.Allocate(old.dtype(), old.shape()));
    RETURN_IF_ERROR(add_.RunFlat(device.queue(), {&old, &value}, sum));
    return variable->Assign(std::move(sum));
  }

 private:
  const ElementWise add_;
};

}  // namespace

void AddVariableKernels(KernelAdder& adder) {
  for (const DType dtype : {DType::kFloat, DType::kInt64}) {
    adder.Add("AssignVariableOp", {{"dtype", dtype}}, AssignGpu::Create);
    adder.Add("AssignAddVariableOp", {{"dtype", dtype}}, AddToVariable::Create);
    adder.Add("AssignSubVariableOp", {{"dtype", dtype}}, AddToVariable::Create);
  }
}

}  // namespace thalweg
