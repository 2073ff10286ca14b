// SPDX-License-Identifier: Apache-2.0
// SharedAllocator: the allocator of steps whose values may go to another process of this host:
// large blocks come from a ShmArena, where a peer reads them in place, all others, and what the
// arena has no room for, from the host allocator.
//
//   auto allocator = SharedAllocator::Make(environment->allocator(), arena);
//
// What both hold together stays within the host allocator's limit. Blocks of kZeroPagesFrom and
// more are the host allocator's too: a table of zeros takes no memory there until it is touched;
// such a tensor is copied when it is pushed.
// Ownership: lives until the last block has come back.
// Threads: every member from any.
// Errors: as Allocator: null where neither has room.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "thalweg/cluster/transport/shm/arena.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

class SharedAllocator final : public Allocator {
 public:
  static std::shared_ptr<SharedAllocator> Make(AllocatorPtr host, std::shared_ptr<ShmArena> arena);

  void* Allocate(size_t bytes) override;
  void Deallocate(void* block, size_t bytes) override;
  AllocatorStats Stats() const override;
  void Trim() override;

 private:
  SharedAllocator(AllocatorPtr host, std::shared_ptr<ShmArena> arena);
  ~SharedAllocator() override = default;
  void Release();

  const AllocatorPtr host_;
  const std::shared_ptr<ShmArena> arena_;
  const int64_t limit_;
  std::atomic<int64_t> holders_{1};  // blocks, and whoever made it
};

}  // namespace thalweg
