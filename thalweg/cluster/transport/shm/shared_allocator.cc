// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/shared_allocator.h"

#include <algorithm>
#include <utility>

#include "thalweg/cluster/transport/record.h"
#include "thalweg/tensor/zero_pages.h"

namespace thalweg {

SharedAllocator::SharedAllocator(AllocatorPtr host, std::shared_ptr<ShmArena> arena)
    : host_(std::move(host)), arena_(std::move(arena)), limit_(host_->Stats().limit) {}

std::shared_ptr<SharedAllocator> SharedAllocator::Make(AllocatorPtr host,
                                                       std::shared_ptr<ShmArena> arena) {
  return {new SharedAllocator(std::move(host), std::move(arena)),
          [](SharedAllocator* allocator) { allocator->Release(); }};
}

void SharedAllocator::Release() {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void* SharedAllocator::Allocate(size_t bytes) {
  void* block = nullptr;
  if (bytes > kMaxRecordPayload) {  // what is smaller goes through the ring
    const int64_t used = host_->Stats().bytes_in_use + arena_->Stats().bytes_in_use;
    if (used > limit_ || bytes > static_cast<size_t>(limit_ - used)) return nullptr;
    if (bytes < kZeroPagesFrom) block = arena_->Allocate(bytes);
  }
  if (block == nullptr) block = host_->Allocate(bytes);
  if (block != nullptr) holders_.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void SharedAllocator::Deallocate(void* block, size_t bytes) {
  const bool shared = bytes > kMaxRecordPayload && arena_->Find(block, bytes).has_value();
  if (shared) {
    arena_->Deallocate(block, bytes);
  } else {
    host_->Deallocate(block, bytes);
  }
  Release();
}

void SharedAllocator::Trim() {
  arena_->Trim();
  host_->Trim();
}

AllocatorStats SharedAllocator::Stats() const {
  AllocatorStats stats = host_->Stats();
  const AllocatorStats shared = arena_->Stats();
  stats.bytes_in_use += shared.bytes_in_use;
  stats.peak_bytes_in_use = std::max(stats.peak_bytes_in_use, stats.bytes_in_use);
  stats.bytes_kept += shared.bytes_kept;
  stats.num_allocations += shared.num_allocations;
  return stats;
}

}  // namespace thalweg
