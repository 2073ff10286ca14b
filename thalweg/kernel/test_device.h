// SPDX-License-Identifier: Apache-2.0
// NamedDevice: a device with a name and the host's memory, to place nodes on and to make kernels
// for, for tests; it runs nothing.
//
//   const NamedDevice gpu("/job:w/replica:0/task:0/device:GPU:0");
//
// Ownership: the test's.
// Threads: any.
// Errors: none; a name that is none ends the test.
#pragma once

#include <string_view>

#include "thalweg/kernel/device.h"

namespace thalweg {

class NamedDevice : public Device {
 public:
  explicit NamedDevice(std::string_view name, uint64_t incarnation = 1,
                       bool host_addressable = true)
      : Device(*DeviceName::Parse(name), incarnation, host_addressable),
        allocator_(MakeCpuAllocator(1 << 20)) {}
  Allocator& allocator() override { return *allocator_; }
  Allocator& host_allocator() override { return *allocator_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override { done(tensor); }
  void CopyFromHost(const Tensor& tensor, CopyDone done) override { done(tensor); }

 private:
  AllocatorPtr allocator_;
};

}  // namespace thalweg
