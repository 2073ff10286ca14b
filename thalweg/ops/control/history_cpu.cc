// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/loop_stack.h"

namespace thalweg {
namespace {

using HistoryPtr = std::shared_ptr<const LoopStack>;

Status SetHistory(Context& ctx, HistoryPtr history) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kVariant, Shape()));
  *out->mutable_data<Variant>() = Variant(std::move(history));
  return OkStatus();
}

Result<HistoryPtr> HistoryOf(const Tensor& x) {
  if (x.dtype() == DType::kVariant && x.rank() == 0) {
    const auto* const history = x.scalar<Variant>().As<LoopStack>();
    if (history != nullptr) return history->shared_from_this();
  }
  return InvalidArgument("expected a history, got ", x.dtype() == DType::kVariant &&
                                                             x.rank() == 0 &&
                                                             x.scalar<Variant>().get() != nullptr
                                                         ? x.scalar<Variant>().get()->DebugString()
                                                         : StrCat(x.dtype(), x.shape()));
}

Status EmptyHistory(Context& ctx) { return SetHistory(ctx, std::make_shared<const LoopStack>()); }

Status PushHistory(Context& ctx) {
  ASSIGN_OR_RETURN(HistoryPtr earlier, HistoryOf(ctx.input(0)));
  std::vector<Tensor> record;
  record.reserve(static_cast<size_t>(ctx.num_inputs()) - 1);
  for (int i = 1; i < ctx.num_inputs(); ++i) record.push_back(ctx.input(i));
  return SetHistory(ctx, std::make_shared<const LoopStack>(std::move(earlier), std::move(record)));
}

class PopHistoryCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<PopHistoryCpu>();
    ASSIGN_OR_RETURN(kernel->types_, c.Attr<std::vector<DType>>("T"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const HistoryPtr history, HistoryOf(ctx.input(0)));
    if (history->length() == 0) return InvalidArgument("the history is empty");
    const std::vector<Tensor>& latest = history->latest();
    if (latest.size() != types_.size()) {
      return InvalidArgument("expected ", types_.size(), " values in the history's latest record, ",
                             "got ", latest.size());
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      if (latest[i].dtype() != types_[i]) {
        return InvalidArgument("expected value ", i, " of the history to be ", types_[i], ", got ",
                               latest[i].dtype());
      }
      ctx.set_output(static_cast<int>(i) + 1, latest[i]);
    }
    return SetHistory(ctx, history->earlier());
  }

 private:
  std::vector<DType> types_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(history, cpu) {
  registry.AddFunction<EmptyHistory>("_EmptyHistory", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<PushHistory>("_PushHistory", kCpu).Cost(KernelCost::kCheap);
  registry.Add<PopHistoryCpu>("_PopHistory", kCpu).Cost(KernelCost::kCheap);
}
