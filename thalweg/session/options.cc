// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/options.h"

#include <algorithm>

#include "thalweg/passes/pass_table.h"

namespace thalweg {

void EnvironmentOptions::LimitDevices(const EnvironmentSize& size) {
  for (auto& [type, count] : device_count) {
    const auto most = size.device_count.find(type);
    if (most != size.device_count.end()) count = std::min(count, most->second);
  }
  const auto gpus = device_count.find("GPU");
  if (gpus == device_count.end() || gpus->second <= 0) return;
  if (!size.visible_gpus.empty()) {
    visible_gpus = size.visible_gpus;
    gpus->second = std::min(gpus->second, static_cast<int>(visible_gpus.size()));
  }
  gpu_memory_fraction = size.gpu_memory_fraction.value_or(gpu_memory_fraction);
}

Status EnvironmentOptions::Validate() const {
  if (threads < -1 || threads > 4096) {
    return InvalidArgument("EnvironmentOptions: threads must be from -1 to 4096, got ", threads);
  }
  if (spin_micros < 0 || spin_micros > 1'000'000) {
    return InvalidArgument("EnvironmentOptions: spin_micros must be from 0 to 1000000, got ",
                           spin_micros);
  }
  if (cpu_devices < 1 || cpu_devices > 64) {
    return InvalidArgument("EnvironmentOptions: cpu_devices must be from 1 to 64, got ",
                           cpu_devices);
  }
  if (job.empty() || job.find_first_of("/: ") != std::string::npos) {
    return InvalidArgument(
        "EnvironmentOptions: job must be a name without '/', ':' and spaces, got '", job, "'");
  }
  if (task < 0) return InvalidArgument("EnvironmentOptions: task must not be negative, got ", task);
  if (memory_limit < 0) {
    return InvalidArgument("EnvironmentOptions: memory_limit must not be negative, got ",
                           memory_limit);
  }
  if (!(gpu_memory_fraction > 0 && gpu_memory_fraction <= 1)) {
    return InvalidArgument(
        "EnvironmentOptions: gpu_memory_fraction must be above 0, and 1 at most, got ",
        gpu_memory_fraction);
  }
  return OkStatus();
}

Status SessionOptions::Validate() const {
  RETURN_IF_ERROR(PassSet::Parse(passes).status());
  if (machine != nullptr) RETURN_IF_ERROR(machine->Validate());
  if (fold_limit_bytes < 0) {
    return InvalidArgument("SessionOptions: fold_limit_bytes must not be negative, got ",
                           fold_limit_bytes);
  }
  if (default_timeout.count() < 0) {
    return InvalidArgument("SessionOptions: default_timeout must not be negative");
  }
  if (plan_cache_size < 1) {
    return InvalidArgument("SessionOptions: plan_cache_size must be at least 1, got ",
                           plan_cache_size);
  }
  if (trace_bytes < 1) {
    return InvalidArgument("SessionOptions: trace_bytes must be at least 1, got ", trace_bytes);
  }
  return OkStatus();
}

Status RunOptions::Validate() const {
  if (timeout.count() < 0) return InvalidArgument("RunOptions: timeout must not be negative");
  if (spent.count() < 0) return InvalidArgument("RunOptions: spent must not be negative");
  if (static_cast<uint8_t>(trace) > static_cast<uint8_t>(TraceLevel::kFull)) {
    return InvalidArgument("RunOptions: there is no trace level ", static_cast<int>(trace));
  }
  return OkStatus();
}

}  // namespace thalweg
