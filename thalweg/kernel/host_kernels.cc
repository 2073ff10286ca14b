// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/host_kernels.h"

#include <algorithm>
#include <array>

namespace thalweg {
namespace {

constexpr std::array<std::string_view, 9> kHostOps = {
    "_Send",         "_Recv",         "_HostSend", "_HostRecv",      "_CopyToHost",
    "_CopyFromHost", "_CopyFromPeer", "NoOp",      "ControlTrigger",
};

}  // namespace

Status AddHostKernels(KernelRegistry& registry, std::string_view device_type) {
  for (const KernelEntry* entry : registry.Entries()) {
    if (entry->device_type != kCpu || std::ranges::count(kHostOps, entry->op) == 0) continue;
    KernelEntry own = *entry;
    own.device_type = device_type;
    RETURN_IF_ERROR(registry.AddUserKernel(std::move(own)));
  }
  return OkStatus();
}

Status ComputeOnHost(Kernel& kernel, const Context& ctx, Device& host, std::span<Tensor> values) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < values.size(); ++i) {
    operands.push_back(Operand::Make(0, static_cast<uint32_t>(i)));
  }
  StepContext step = ctx.step();
  step.device = &host;
  step.allocator = &host.host_allocator();
  step.host_addressable = true;
  Context inside;
  inside.Bind(&step, ctx.tag());
  inside.SetBase(0, values.data());
  inside.SetOperands(operands.data(), ctx.num_inputs(), ctx.num_outputs());
  return kernel.Compute(inside);
}

}  // namespace thalweg
