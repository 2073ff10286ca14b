// SPDX-License-Identifier: Apache-2.0
// DeviceFactory: makes the devices of one type for an environment. Devices are leaves: who puts a
// process together names their factories (`MakeCpuDevices` of devices/cpu), nobody below knows
// them.
// Ownership: the devices are the caller's; they share the host allocator.
// Threads: any.
// Errors: the device's own, which end the making of the environment; an empty list is none.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/kernel/device.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

class KernelRegistry;
class OpRegistry;

// What an environment offers its devices, and asks of them.
struct DeviceRequest {
  std::string job;
  int task = 0;
  int cpu_devices = 1;
  // How many of other types, where somebody has said; a type that is not named: as the factory
  // likes.
  std::map<std::string, int> device_count = {};
  // Which cards GPU:0, GPU:1, ... are, by their numbers on this machine; empty: the first ones.
  std::vector<int> visible_gpus = {};
  // What part of its memory the tensors of a GPU may take.
  double gpu_memory_fraction = 1;
  uint64_t incarnation = 0;     // of this life of the task
  AllocatorPtr host_allocator;  // with the environment's cap
  // Where a device may keep what it has compiled, for the next process; empty: nowhere.
  std::string cache_directory = {};
  // Where a device may find operations, and look for kernels and add some. Both outlive it.
  const OpRegistry* ops = nullptr;
  KernelRegistry* kernels = nullptr;

  // /job:JOB/replica:0/task:TASK/device:TYPE:INDEX
  DeviceName NameOf(std::string_view type, int index) const {
    DeviceName name;
    name.job = job;
    name.replica = 0;
    name.task = task;
    name.type = type;
    name.index = index;
    return name;
  }
};

// An empty list where the machine has no such device.
using DeviceFactory = Result<std::vector<std::unique_ptr<Device>>> (*)(const DeviceRequest&);

}  // namespace thalweg
