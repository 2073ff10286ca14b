// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/state/variable_slot.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

class VariableCpu : public Kernel {
 public:
  explicit VariableCpu(VariableSlot slot) : slot_(std::move(slot)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(VariableSlot slot, VariableSlot::Make(c));
    return std::unique_ptr<Kernel>(std::make_unique<VariableCpu>(std::move(slot)));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(RefPtr<Variable> variable, slot_.Get(*ctx.step().resources));
    const DType dtype = variable->dtype();
    ctx.set_output(0, Tensor::Reference(RefPtr<Resource>::Adopt(variable.release()), dtype));
    return OkStatus();
  }

 private:
  const VariableSlot slot_;
};

Status IsVariableInitialized(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(variable->initialized()));
  return OkStatus();
}

// A name of the step; iterations of a loop have variables of their own.
std::string StepName(const Context& ctx, const std::string& name) {
  return StrCat(name, "/", ctx.tag());
}

class TemporaryVariableCpu : public Kernel {
 public:
  TemporaryVariableCpu(std::string name, DType dtype, PartialShape shape)
      : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string name, c.Attr<std::string>("var_name"));
    ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("dtype"));
    ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
    if (name.empty()) name = c.node().name();
    return std::unique_ptr<Kernel>(
        std::make_unique<TemporaryVariableCpu>(std::move(name), dtype, std::move(shape)));
  }

  Status Compute(Context& ctx) override {
    auto variable =
        RefPtr<Variable>::Adopt(std::make_unique<Variable>(name_, dtype_, shape_).release());
    RETURN_IF_ERROR(ctx.step().step_resources->Create("", StepName(ctx, name_), variable));
    ctx.set_output(0, Tensor::Reference(RefPtr<Resource>::Adopt(variable.release()), dtype_));
    return OkStatus();
  }

 private:
  const std::string name_;
  const DType dtype_;
  const PartialShape shape_;
};

class DestroyTemporaryVariableCpu : public Kernel {
 public:
  explicit DestroyTemporaryVariableCpu(std::string name) : name_(std::move(name)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string name, c.Attr<std::string>("var_name"));
    return std::unique_ptr<Kernel>(std::make_unique<DestroyTemporaryVariableCpu>(std::move(name)));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    ASSIGN_OR_RETURN(Tensor value, variable->Read());
    RETURN_IF_ERROR(ctx.step().step_resources->Delete<Variable>("", StepName(ctx, name_)));
    ctx.set_output(0, std::move(value));
    return OkStatus();
  }

 private:
  const std::string name_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(variable, cpu) {
  registry.Add<VariableCpu>("VariableV2", kCpu).Cost(KernelCost::kCheap);
  registry.Add<VariableCpu>("Variable", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<IsVariableInitialized>("IsVariableInitialized", kCpu)
      .Cost(KernelCost::kCheap);
  registry.Add<TemporaryVariableCpu>("TemporaryVariable", kCpu).Cost(KernelCost::kCheap);
  registry.Add<DestroyTemporaryVariableCpu>("DestroyTemporaryVariable", kCpu)
      .Cost(KernelCost::kCheap);
}
