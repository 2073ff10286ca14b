// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/rows.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status Gather(Context& ctx) { return GatherOutput(ctx, ctx.input(0), ctx.input(1), 0, 0); }

class GatherV2Cpu : public Kernel {
 public:
  explicit GatherV2Cpu(int64_t batch_dims) : batch_dims_(batch_dims) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t batch_dims, c.Attr<int64_t>("batch_dims"));
    return std::unique_ptr<Kernel>(std::make_unique<GatherV2Cpu>(batch_dims));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const int64_t axis, IntScalar(ctx.input(2), "axis"));
    return GatherOutput(ctx, ctx.input(0), ctx.input(1), axis, batch_dims_);
  }

 private:
  const int64_t batch_dims_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(gather, cpu) {
  registry.AddFunction<Gather>("Gather", kCpu);
  registry.Add<GatherV2Cpu>("GatherV2", kCpu);
}
