// SPDX-License-Identifier: Apache-2.0
// DescribedDevice: something to place nodes on that is known by its description alone: it is in
// another task, or nowhere. Its memory is out of reach.
//
//   DescribedDevice device(*DeviceName::Parse("/job:a/replica:0/task:0/device:CPU:1"), 0, 0);
//
// Ownership: it holds no memory.
// Threads: every member from any.
// Errors: Internal for who copies to or from it; its allocator gives nothing.
#pragma once

#include <utility>

#include "thalweg/kernel/device.h"

namespace thalweg {

class DescribedDevice : public Device {
 public:
  // `memory_limit` 0: as much as one likes.
  DescribedDevice(DeviceName name, uint64_t incarnation, int64_t memory_limit,
                  bool host_addressable = true)
      : Device(std::move(name), incarnation, host_addressable), memory_(memory_limit) {}

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
  Status OutOfReach() const { return Internal("the memory of ", full_name(), " is not here"); }

  Memory memory_;
};

}  // namespace thalweg
