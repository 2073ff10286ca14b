// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/missing_feed.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class PlaceholderCpu : public Kernel {
 public:
  explicit PlaceholderCpu(std::string message) : message_(std::move(message)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return std::unique_ptr<Kernel>(std::make_unique<PlaceholderCpu>(MissingFeedText(c.node())));
  }

  Status Compute(Context&) override { return InvalidArgument(message_); }

 private:
  const std::string message_;
};

class PlaceholderWithDefaultCpu : public Kernel {
 public:
  explicit PlaceholderWithDefaultCpu(PartialShape shape) : shape_(std::move(shape)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
    return std::unique_ptr<Kernel>(std::make_unique<PlaceholderWithDefaultCpu>(std::move(shape)));
  }

  Status Compute(Context& ctx) override {
    if (!shape_.Admits(ctx.input(0).shape())) {
      return InvalidArgument("the default has shape ", ctx.input(0).shape(),
                             ", which does not fit shape ", shape_);
    }
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }

 private:
  const PartialShape shape_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(placeholder, cpu) {
  registry.Add<PlaceholderCpu>("Placeholder", kCpu).Cost(KernelCost::kCheap);
  registry.Add<PlaceholderCpu>("PlaceholderV2", kCpu).Cost(KernelCost::kCheap);
  registry.Add<PlaceholderWithDefaultCpu>("PlaceholderWithDefault", kCpu).Cost(KernelCost::kCheap);
}
