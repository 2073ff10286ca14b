// SPDX-License-Identifier: Apache-2.0
// NodeMemory: in which memory the values of a node are, on a device whose memory the host cannot
// address.
//
//   ASSIGN_OR_RETURN(const NodeMemory memory, NodeMemory::Of(*node, kernels, device.type()));
//   if (memory.inputs[i] == MemoryKind::kHost) ...
//
// Ownership: a value.
// Threads: any.
// Errors: those of KernelRegistry::Find; Internal for a registration that names an argument which
// the operation does not have.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

enum class MemoryKind : uint8_t { kHost, kDevice };

struct NodeMemory {
  // Strings, resources, variants and references are in host memory, and so are the arguments that
  // the kernel's registration names, what Send and Recv hand over, constants, and what decides in
  // control flow. All else that control flow hands on is in the device's.
  static Result<NodeMemory> Of(const Node& node, const KernelRegistry& kernels,
                               std::string_view device_type);

  std::vector<MemoryKind> inputs;
  std::vector<MemoryKind> outputs;
};

}  // namespace thalweg
