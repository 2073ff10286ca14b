// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class ConstCpu : public Kernel {
 public:
  explicit ConstCpu(Tensor value) : value_(std::move(value)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(Tensor value, c.Attr<Tensor>("value"));
    return std::unique_ptr<Kernel>(std::make_unique<ConstCpu>(std::move(value)));
  }

  Status Compute(Context& ctx) override {
    ctx.set_output(0, value_);
    return OkStatus();
  }

 private:
  const Tensor value_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(const, cpu) {
  registry.Add<ConstCpu>("Const", kCpu).Cost(KernelCost::kCheap);
  registry.Add<ConstCpu>("HostConst", kCpu).Cost(KernelCost::kCheap);
}
