// SPDX-License-Identifier: Apache-2.0
// A device to place nodes on, for tests of passes: it runs nothing.
#pragma once

#include <string_view>

#include "thalweg/kernel/device.h"

namespace thalweg {

class NamedDevice : public Device {
 public:
  NamedDevice(std::string_view name, uint64_t incarnation, bool host_addressable = true)
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
