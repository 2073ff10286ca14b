// SPDX-License-Identifier: Apache-2.0
// FakeMemory: the memory of a fake device: one range of addresses that nobody may touch, and a
// second one over the same bytes that only the device itself uses. Tensors carry addresses of the
// first; what reads or writes through them on the host faults there and then.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<FakeMemory> memory, FakeMemory::Make(int64_t{1} << 30));
//   void* block = memory->Allocate(100);            // faults where it is touched
//   std::memset(memory->Readable(block), 0, 100);   // does not
//
// Blocks that go back are overwritten, so that who reads on gets what nobody wrote.
// Ownership: as Allocator: lives until the last block has come back.
// Threads: every member from any.
// Errors: ResourceExhausted where the system gives no such range; Allocate gives null.
#pragma once

#include <map>
#include <memory>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

class FakeMemory : public Allocator {
 public:
  static Result<std::shared_ptr<FakeMemory>> Make(int64_t limit);

  void* Allocate(size_t bytes) override EXCLUDES(mutex_);
  void Deallocate(void* block, size_t bytes) override EXCLUDES(mutex_);
  AllocatorStats Stats() const override EXCLUDES(mutex_);
  void Trim() override {}

  // Whether it is an address of this memory that tensors carry.
  bool Contains(const void* address) const {
    const char* const at = static_cast<const char*>(address);
    return at >= closed_ && at < closed_ + size_;
  }
  // The byte at such an address, where the device reaches it.
  void* Readable(const void* address) const {
    return open_ + (static_cast<const char*>(address) - closed_);
  }
  // Whether it is an address that Readable() gives.
  bool IsReadable(const void* address) const {
    const char* const at = static_cast<const char*>(address);
    return at >= open_ && at < open_ + size_;
  }

 private:
  FakeMemory(char* closed, char* open, size_t size);
  ~FakeMemory() override;
  // The last AllocatorPtr has gone.
  void Abandon() EXCLUDES(mutex_);

  char* const closed_;
  char* const open_;
  const size_t size_;
  mutable Mutex mutex_;
  std::map<size_t, size_t> free_ GUARDED_BY(mutex_);  // by offset; neighbors are joined
  AllocatorStats stats_ GUARDED_BY(mutex_);
  int64_t live_ GUARDED_BY(mutex_) = 0;
  bool abandoned_ GUARDED_BY(mutex_) = false;
};

}  // namespace thalweg
