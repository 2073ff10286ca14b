// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/asked_device.h"

#include "thalweg/kernel/device_name.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

bool MayBeOnCpu(const Node& node) {
  if (node.device().empty()) return true;
  const Result<DeviceName> asked = DeviceName::Parse(node.device());
  return asked.ok() && (!asked->type || *asked->type == kCpu);
}

}  // namespace thalweg
