// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status Timestamp(Context& ctx) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  ctx.set_output(0, Tensor::Scalar(std::chrono::duration<double>(now).count()));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(timestamp, cpu) { registry.AddFunction<Timestamp>("Timestamp", kCpu); }
