// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/loop_stack.h"

namespace thalweg {
namespace {

using LoopStackPtr = std::shared_ptr<const LoopStack>;

Status SetLoopStack(Context& ctx, LoopStackPtr stack) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kVariant, Shape()));
  *out->mutable_data<Variant>() = Variant(std::move(stack));
  return OkStatus();
}

Result<LoopStackPtr> LoopStackOf(const Tensor& x) {
  if (x.dtype() == DType::kVariant && x.rank() == 0) {
    const auto* const stack = x.scalar<Variant>().As<LoopStack>();
    if (stack != nullptr) return stack->shared_from_this();
  }
  return InvalidArgument(
      "expected a loop stack, got ",
      x.dtype() == DType::kVariant && x.rank() == 0 && x.scalar<Variant>().get() != nullptr
          ? x.scalar<Variant>().get()->DebugString()
          : StrCat(x.dtype(), x.shape()));
}

Status EmptyLoopStack(Context& ctx) {
  return SetLoopStack(ctx, std::make_shared<const LoopStack>());
}

Status PushLoopStack(Context& ctx) {
  ASSIGN_OR_RETURN(LoopStackPtr earlier, LoopStackOf(ctx.input(0)));
  std::vector<Tensor> record;
  record.reserve(static_cast<size_t>(ctx.num_inputs()) - 1);
  for (int i = 1; i < ctx.num_inputs(); ++i) record.push_back(ctx.input(i));
  return SetLoopStack(ctx,
                      std::make_shared<const LoopStack>(std::move(earlier), std::move(record)));
}

class PopLoopStackCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<PopLoopStackCpu>();
    ASSIGN_OR_RETURN(kernel->types_, c.Attr<std::vector<DType>>("T"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const LoopStackPtr stack, LoopStackOf(ctx.input(0)));
    if (stack->length() == 0) return InvalidArgument("the stack is empty");
    const std::vector<Tensor>& latest = stack->latest();
    if (latest.size() != types_.size()) {
      return InvalidArgument("expected ", types_.size(), " values in the stack's latest record, ",
                             "got ", latest.size());
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      if (latest[i].dtype() != types_[i]) {
        return InvalidArgument("expected value ", i, " of the stack to be ", types_[i], ", got ",
                               latest[i].dtype());
      }
      ctx.set_output(static_cast<int>(i) + 1, latest[i]);
    }
    return SetLoopStack(ctx, stack->earlier());
  }

 private:
  std::vector<DType> types_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(loop_stack, cpu) {
  registry.AddFunction<EmptyLoopStack>("_EmptyLoopStack", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<PushLoopStack>("_PushLoopStack", kCpu).Cost(KernelCost::kCheap);
  registry.Add<PopLoopStackCpu>("_PopLoopStack", kCpu).Cost(KernelCost::kCheap);
}
