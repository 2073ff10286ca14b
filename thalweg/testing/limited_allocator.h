// SPDX-License-Identifier: Apache-2.0
// LimitedAllocator: malloc with a limit and nothing else: blocks have just the size asked for, so
// that the address sanitizer sees a byte too many.
//
//   LimitedAllocator allocator(int64_t{256} << 20);
//
// Ownership: outlives the blocks that it gave.
// Threads: all calls from any thread.
// Errors: null beyond the limit, or where malloc has none.
#pragma once

#include <atomic>
#include <cstdlib>

#include "thalweg/tensor/allocator.h"

namespace thalweg {

class LimitedAllocator final : public Allocator {
 public:
  explicit LimitedAllocator(int64_t limit) : limit_(limit) {}
  void* Allocate(size_t bytes) override {
    if (bytes > static_cast<size_t>(limit_)) return nullptr;
    const auto size = static_cast<int64_t>(bytes);
    void* block = nullptr;
    if (in_use_.fetch_add(size) + size > limit_ ||
        posix_memalign(&block, kTensorAlignment, bytes) != 0) {
      in_use_.fetch_sub(size);
      return nullptr;
    }
    return block;
  }
  void Deallocate(void* block, size_t bytes) override {
    in_use_.fetch_sub(static_cast<int64_t>(bytes));
    std::free(block);
  }
  AllocatorStats Stats() const override {
    AllocatorStats stats;
    stats.bytes_in_use = in_use_.load();
    stats.limit = limit_;
    return stats;
  }
  void Trim() override {}

 private:
  const int64_t limit_;
  std::atomic<int64_t> in_use_{0};
};

}  // namespace thalweg
