// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class EnsureShapeCpu : public Kernel {
 public:
  explicit EnsureShapeCpu(PartialShape expected) : expected_(std::move(expected)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(PartialShape expected, c.Attr<PartialShape>("shape"));
    return std::unique_ptr<Kernel>(std::make_unique<EnsureShapeCpu>(std::move(expected)));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    if (!expected_.Admits(x.shape())) {
      return InvalidArgument("Shape of tensor input ", x.shape(),
                             " is not compatible with expected shape ", expected_, ".");
    }
    ctx.set_output(0, x);
    return OkStatus();
  }

 private:
  const PartialShape expected_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(ensure_shape, cpu) {
  registry.Add<EnsureShapeCpu>("EnsureShape", kCpu).Cost(KernelCost::kCheap);
}
