// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/host_kernels.h"

#include <algorithm>
#include <array>

namespace thalweg {
namespace {

constexpr std::array<std::string_view, 8> kHostOps = {
    "_Send",       "_Recv",         "_HostSend", "_HostRecv",
    "_CopyToHost", "_CopyFromHost", "NoOp",      "ControlTrigger",
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

}  // namespace thalweg
