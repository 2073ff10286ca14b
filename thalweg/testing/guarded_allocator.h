// SPDX-License-Identifier: Apache-2.0
// GuardedAllocator: malloc with guard bytes before and after every block, and blocks full of
// garbage, so that a kernel which writes beside its output, or forgets to write it, is found out.
//
//   GuardedAllocator allocator;
//   ...
//   EXPECT_EQ(allocator.Damage(), "");
//
// Tensors of a few hundred bytes never reach an allocator (tensor/small_block.h), so a case needs
// an output of more than 512 bytes to be guarded.
// Ownership: outlives the blocks that it gave; one that is never freed is found at its end.
// Threads: all calls from any thread.
// Errors: null where malloc has none; damage is told by Damage().
#pragma once

#include <map>
#include <string>

#include "thalweg/base/mutex.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

class GuardedAllocator : public Allocator {
 public:
  ~GuardedAllocator() override;
  void* Allocate(size_t bytes) override;
  void Deallocate(void* block, size_t bytes) override;
  AllocatorStats Stats() const override;
  void Trim() override {}
  // What was found so far, in freed blocks and live ones; "" when all guards are whole.
  std::string Damage() const;

 private:
  void Check(const char* block, size_t bytes) const REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<char*, size_t> live_ GUARDED_BY(mutex_);
  mutable std::string damage_ GUARDED_BY(mutex_);
  int64_t num_allocations_ GUARDED_BY(mutex_) = 0;
};

}  // namespace thalweg
