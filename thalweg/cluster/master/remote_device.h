// SPDX-License-Identifier: Apache-2.0
// RemoteDevice: a device of another task: something to place nodes on. Its memory is out of reach.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Device> device, RemoteDevice::Make(attributes));
//
// Ownership: the session owns it; it holds no memory of the other task.
// Threads: every member from any.
// Errors: InvalidArgument for attributes whose name is no device's; Internal for who copies to or
// from it; its allocator gives nothing.
#pragma once

#include "thalweg/kernel/device.h"
#include "thalweg/proto/message.h"

namespace thalweg {

class RemoteDevice : public Device {
 public:
  // `attributes` are DeviceAttributes, as GetStatus gives them. `task`: whose it is here, whatever
  // that calls itself; empty: the task's that it says.
  static Result<std::unique_ptr<Device>> Make(const Message& attributes,
                                              std::string_view task = {});
  RemoteDevice(DeviceName name, uint64_t incarnation, int64_t memory_limit)
      : Device(std::move(name), incarnation), memory_(memory_limit) {}

  Allocator& allocator() override { return memory_; }
  Allocator& host_allocator() override { return memory_; }
  void CopyToHost(const Tensor&, CopyDone done) override { done(OutOfReach()); }
  void CopyFromHost(const Tensor&, CopyDone done) override { done(OutOfReach()); }

 private:
  // Knows how much there is, and gives none.
  class Memory : public Allocator {
   public:
    explicit Memory(int64_t limit) : limit_(limit) {}
    void* Allocate(size_t) override { return nullptr; }
    void Deallocate(void*, size_t) override {}
    AllocatorStats Stats() const override { return {.limit = limit_}; }
    void Trim() override {}

   private:
    const int64_t limit_;
  };
  Status OutOfReach() const {
    return Internal("the memory of ", full_name(), " is in another process");
  }

  Memory memory_;
};

}  // namespace thalweg
