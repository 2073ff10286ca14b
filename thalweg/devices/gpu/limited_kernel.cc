// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/limited_kernel.h"

#include <memory>
#include <utility>
#include <vector>

#include "thalweg/devices/gpu/gpu_device.h"
#include "thalweg/kernel/host_kernels.h"
#include "thalweg/kernel/memory_kind.h"
#include "thalweg/kernel/waited_copy.h"

namespace thalweg {
namespace {

class LimitedKernel : public Kernel {
 public:
  // `own` may be null: then it does nothing.
  LimitedKernel(std::unique_ptr<Kernel> own, std::unique_ptr<Kernel> host, NodeMemory memory)
      : own_(std::move(own)), host_(std::move(host)), memory_(std::move(memory)) {}

  Status Compute(Context& ctx) override {
    if (own_ != nullptr) {
      Status done = own_->Compute(ctx);
      if (done.code() != Code::kUnimplemented) return done;
    }
    return ComputeOnCopies(ctx);
  }

 private:
  Status ComputeOnCopies(Context& ctx) {
    auto& device = static_cast<GpuDevice&>(ctx.device());
    const int inputs = ctx.num_inputs();
    std::vector<Tensor> values(static_cast<size_t>(inputs + ctx.num_outputs()));
    for (int i = 0; i < inputs; ++i) {
      values[i] = ctx.input(i);
      if (!device.Has(values[i])) continue;
      ASSIGN_OR_RETURN(values[i], CopyAndWait(device, &Device::CopyToHost, values[i], ctx.step()));
    }
    RETURN_IF_ERROR(ComputeOnHost(*host_, ctx, device, values));
    for (int o = 0; o < ctx.num_outputs(); ++o) {
      Tensor& made = values[inputs + o];
      if (memory_.outputs[o] == MemoryKind::kDevice && !made.empty()) {
        ASSIGN_OR_RETURN(made, CopyAndWait(device, &Device::CopyFromHost, made, ctx.step()));
      }
      ctx.set_output(o, std::move(made));
    }
    return OkStatus();
  }

  const std::unique_ptr<Kernel> own_;
  const std::unique_ptr<Kernel> host_;
  const NodeMemory memory_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> WithHostBehind(const KernelConstruction& c,
                                               Result<std::unique_ptr<Kernel>> own) {
  if (!own.ok() && own.status().code() != Code::kUnimplemented) return own;
  const KernelRegistry* const kernels = static_cast<GpuDevice&>(c.device()).kernels();
  if (kernels == nullptr) return own;
  const Result<const KernelEntry*> entry = kernels->Find(c.node(), kCpu);
  if (!entry.ok() || (*entry)->is_async) return own;
  Result<std::unique_ptr<Kernel>> host = (*entry)->factory(c);
  if (!host.ok()) return own.ok() ? std::move(own) : std::move(host);
  ASSIGN_OR_RETURN(NodeMemory memory, NodeMemory::Of(c.node(), *kernels, kGpu));
  return std::unique_ptr<Kernel>(std::make_unique<LimitedKernel>(
      own.ok() ? *std::move(own) : nullptr, *std::move(host), std::move(memory)));
}

}  // namespace thalweg
