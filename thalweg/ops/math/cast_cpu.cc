// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/ew.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class CastCpu : public Kernel {
 public:
  explicit CastCpu(const KernelConstruction& c) : to_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.dtype() == to_) {
      ctx.set_output(0, x);
      return OkStatus();
    }
    const DType from = x.dtype();
    const int64_t n = x.num_elements();
    const void* data = x.raw_data();
    ASSIGN_OR_RETURN(Tensor * y, ctx.TakeOrAllocateOutput({0}, 0, to_, x.shape()));
    return compute::RunCast(ctx.work(), from, to_, n, data, y->mutable_raw_data());
  }

 private:
  const DType to_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(cast, cpu) { registry.Add<CastCpu>("Cast", kCpu); }
