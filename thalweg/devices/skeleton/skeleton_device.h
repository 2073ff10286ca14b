// SPDX-License-Identifier: Apache-2.0
// SkeletonDevice: the template for a new device: every member says Unimplemented, in the way that
// the interface asks for. Clone this folder (README.md) and fill it in.
// Ownership: the environment owns it; it shares the host allocator.
// Threads: every member from any; `done` runs in the caller.
// Errors: Unimplemented to `done`; its allocator gives null.
#pragma once

#include "thalweg/kernel/device_factory.h"

namespace thalweg {

inline constexpr std::string_view kSkeleton = "SKELETON";

// Has no memory: refuses every block.
class SkeletonAllocator : public Allocator {
 public:
  void* Allocate(size_t) override { return nullptr; }
  void Deallocate(void*, size_t) override {}
  AllocatorStats Stats() const override { return {}; }
  void Trim() override {}
};

class SkeletonDevice : public Device {
 public:
  SkeletonDevice(DeviceName name, uint64_t incarnation, AllocatorPtr host_allocator)
      : Device(std::move(name), incarnation, false), host_allocator_(std::move(host_allocator)) {}
  Allocator& allocator() override { return allocator_; }
  Allocator& host_allocator() override { return *host_allocator_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override;
  void CopyFromHost(const Tensor& tensor, CopyDone done) override;

 private:
  SkeletonAllocator allocator_;
  const AllocatorPtr host_allocator_;
};

// One device.
Result<std::vector<std::unique_ptr<Device>>> MakeSkeletonDevices(const DeviceRequest& request);

}  // namespace thalweg
