// SPDX-License-Identifier: Apache-2.0
// TestMachine: a CPU device with guarded memory and a Work of one instruction set level, whose
// shards run in the caller, first to last or last to first. Bits must not depend on that order.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "thalweg/compute/work.h"
#include "thalweg/kernel/device.h"
#include "thalweg/testing/guarded_allocator.h"

namespace thalweg {

class TestDevice : public Device {
 public:
  explicit TestDevice(std::string_view name = "/job:localhost/replica:0/task:0/device:CPU:0")
      : Device(*DeviceName::Parse(name), 1) {}
  GuardedAllocator& allocator() override { return allocator_; }
  Allocator& host_allocator() override { return allocator_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override { done(tensor); }
  void CopyFromHost(const Tensor& tensor, CopyDone done) override { done(tensor); }

 private:
  GuardedAllocator allocator_;
};

class OrderedWork final : public compute::Work {
 public:
  OrderedWork(compute::IsaLevel level, bool backwards)
      : Work(compute::GetIsaTable(level)), backwards_(backwards) {}
  void ParallelFor(int64_t shards, ShardFn fn, void* context) override {
    for (int64_t s = 0; s < shards; ++s) fn(context, backwards_ ? shards - 1 - s : s);
  }
  void* AllocateScratch(size_t bytes) override { return scratch_.Allocate(bytes); }
  void FreeScratch(void* pointer, size_t bytes) override { scratch_.Deallocate(pointer, bytes); }
  std::string Damage() const { return scratch_.Damage(); }

 private:
  const bool backwards_;
  GuardedAllocator scratch_;
};

struct TestMachine {
  TestMachine(compute::IsaLevel level, bool backwards)
      : name(std::string(compute::IsaLevelName(level)) + (backwards ? " backwards" : "")),
        work(level, backwards) {}
  std::string name;
  TestDevice device;
  OrderedWork work;
};

}  // namespace thalweg
