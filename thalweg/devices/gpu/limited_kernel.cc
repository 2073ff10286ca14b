// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/limited_kernel.h"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/notification.h"
#include "thalweg/devices/gpu/gpu_device.h"
#include "thalweg/kernel/host_kernels.h"
#include "thalweg/kernel/memory_kind.h"

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
  using Copy = void (Device::*)(const Tensor&, Device::CopyDone);

  // A copy, or why the step ended before it had come: whichever is first.
  struct Arrival {
    explicit Arrival(Tensor tensor) : given(std::move(tensor)) {}
    void Tell(Result<Tensor> told) {
      if (is_told.exchange(true)) return;
      result = std::move(told);
      ended.Notify();
    }
    const Tensor given;  // stays where it is, a scalar's bytes with it, until the copy has ended
    std::atomic<bool> is_told = false;
    Result<Tensor> result = Internal("no copy has come");
    Notification ended;
  };

  // Waits, at most until the step's deadline: the CPU's kernel reads the bytes at once.
  static Result<Tensor> Copied(Context& ctx, Copy copy, const Tensor& tensor) {
    const auto arrival = std::make_shared<Arrival>(tensor);
    (ctx.device().*copy)(arrival->given,
                         [arrival](Result<Tensor> copied) { arrival->Tell(std::move(copied)); });
    const ScopedCancellation until(ctx.step().cancellation,
                                   [arrival](const Status& why) { arrival->Tell(why); });
    arrival->ended.Wait();
    return std::move(arrival->result);
  }

  Status ComputeOnCopies(Context& ctx) {
    auto& device = static_cast<GpuDevice&>(ctx.device());
    const int inputs = ctx.num_inputs();
    std::vector<Tensor> values(static_cast<size_t>(inputs + ctx.num_outputs()));
    for (int i = 0; i < inputs; ++i) {
      values[i] = ctx.input(i);
      if (!device.Has(values[i])) continue;
      ASSIGN_OR_RETURN(values[i], Copied(ctx, &Device::CopyToHost, values[i]));
    }
    RETURN_IF_ERROR(ComputeOnHost(*host_, ctx, device, values));
    for (int o = 0; o < ctx.num_outputs(); ++o) {
      Tensor& made = values[inputs + o];
      if (memory_.outputs[o] == MemoryKind::kDevice && !made.empty()) {
        ASSIGN_OR_RETURN(made, Copied(ctx, &Device::CopyFromHost, made));
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
