// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/peer_copies.h"

namespace thalweg {
namespace {

// Says what the device's copy says, whose end may come on any thread. Not only the CPU's kernel: a
// device takes the entry over (kernel/host_kernels.h).
template <void (Device::*kCopy)(const Tensor&, Device::CopyDone)>
class DeviceCopy : public AsyncKernel {
 public:
  void ComputeAsync(Context& ctx, Done done) override {
    auto shared = std::make_shared<Done>(std::move(done));
    (ctx.device().*kCopy)(ctx.input(0), [&ctx, shared](Result<Tensor> copy) {
      const Status status = copy.status();
      if (status.ok()) ctx.set_output(0, *std::move(copy));
      std::move (*shared)(status);
    });
  }
};

Status CopyFromPeer(Context& ctx) {
  auto* const peers = dynamic_cast<PeerCopies*>(&ctx.device());
  if (peers == nullptr) return Internal(ctx.device().full_name(), " reaches no other device");
  ASSIGN_OR_RETURN(Tensor copy, peers->CopyFromPeer(ctx.input(0)));
  ctx.set_output(0, std::move(copy));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(device_copy, cpu) {
  registry.Add<DeviceCopy<&Device::CopyToHost>>("_CopyToHost", kCpu)
      .Cost(KernelCost::kCheap)
      .HostMemory({"copy"});
  registry.Add<DeviceCopy<&Device::CopyFromHost>>("_CopyFromHost", kCpu)
      .Cost(KernelCost::kCheap)
      .HostMemory({"tensor"});
  registry.AddFunction<CopyFromPeer>("_CopyFromPeer", kCpu).Cost(KernelCost::kCheap);
}
