// SPDX-License-Identifier: Apache-2.0
// CpuDevice: the host's processors as a device. Several in one process are virtual: they share
// threads and memory, and what crosses between them goes through Send and Recv like between
// machines.
//   registries.devices.push_back(MakeCpuDevices);
//
// Ownership: the environment owns it; it shares the host allocator with the other CPU devices,
// copies share the buffer.
// Threads: every member from any; `done` runs in the caller.
// Errors: none of its own; a copy always comes.
#pragma once

#include "thalweg/kernel/device_factory.h"

namespace thalweg {

class CpuDevice : public Device {
 public:
  CpuDevice(DeviceName name, uint64_t incarnation, AllocatorPtr allocator)
      : Device(std::move(name), incarnation), allocator_(std::move(allocator)) {}
  Allocator& allocator() override { return *allocator_; }
  Allocator& host_allocator() override { return *allocator_; }
  // Both share the buffer and run `done` inline.
  void CopyToHost(const Tensor& tensor, CopyDone done) override { done(tensor); }
  void CopyFromHost(const Tensor& tensor, CopyDone done) override { done(tensor); }

 private:
  const AllocatorPtr allocator_;
};

// /job:JOB/replica:0/task:TASK/device:CPU:0 ... as many as the request asks for.
Result<std::vector<std::unique_ptr<Device>>> MakeCpuDevices(const DeviceRequest& request);

}  // namespace thalweg
