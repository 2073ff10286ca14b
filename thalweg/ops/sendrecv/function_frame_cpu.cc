// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// The body of a function takes the place of its call before a step runs, so
// neither is ever reached in a step that works.
class FrameCpu : public Kernel {
 public:
  explicit FrameCpu(int64_t index) : index_(index) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t index, c.Attr<int64_t>("index"));
    return std::unique_ptr<Kernel>(std::make_unique<FrameCpu>(index));
  }

  Status Compute(Context&) override {
    return FailedPrecondition("number ", index_,
                              " of a function's arguments or results has no value outside a call "
                              "of the function");
  }

 private:
  const int64_t index_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(function_frame, cpu) {
  registry.Add<FrameCpu>("_Arg", kCpu).Cost(KernelCost::kCheap);
  registry.Add<FrameCpu>("_Retval", kCpu).Cost(KernelCost::kCheap);
}
