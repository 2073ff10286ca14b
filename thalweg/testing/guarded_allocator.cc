// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/guarded_allocator.h"

#include <cstdlib>
#include <cstring>

#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

constexpr size_t kGuard = 64;
constexpr char kGuardByte = 0x5a;
constexpr int kGarbage = 0xcb;

}  // namespace

GuardedAllocator::~GuardedAllocator() = default;

void* GuardedAllocator::Allocate(size_t bytes) {
  if (bytes > (size_t{1} << 40)) return nullptr;
  const size_t total = (bytes + 2 * kGuard + 63) / 64 * 64;
  auto* block = static_cast<char*>(std::aligned_alloc(kTensorAlignment, total));
  if (block == nullptr) return nullptr;
  std::memset(block, kGuardByte, total);
  std::memset(block + kGuard, kGarbage, bytes);
  MutexLock lock(mutex_);
  live_[block + kGuard] = bytes;
  ++num_allocations_;
  return block + kGuard;
}

void GuardedAllocator::Deallocate(void* block, size_t bytes) {
  auto* data = static_cast<char*>(block);
  {
    MutexLock lock(mutex_);
    Check(data, bytes);
    if (live_.erase(data) == 0) damage_ += "a block was freed that is not live; ";
  }
  std::free(data - kGuard);
}

AllocatorStats GuardedAllocator::Stats() const {
  MutexLock lock(mutex_);
  AllocatorStats stats;
  stats.num_allocations = num_allocations_;
  for (const auto& [block, bytes] : live_) stats.bytes_in_use += static_cast<int64_t>(bytes);
  return stats;
}

std::string GuardedAllocator::Damage() const {
  MutexLock lock(mutex_);
  for (const auto& [block, bytes] : live_) Check(block, bytes);
  return damage_;
}

void GuardedAllocator::Check(const char* block, size_t bytes) const {
  for (size_t i = 0; i < kGuard; ++i) {
    if (block[bytes + i] != kGuardByte) {
      damage_ += StrCat("byte ", i, " after a block of ", bytes, " bytes was overwritten; ");
      return;
    }
    if (block[-1 - static_cast<ptrdiff_t>(i)] != kGuardByte) {
      damage_ += StrCat("byte ", i + 1, " before a block of ", bytes, " bytes was overwritten; ");
      return;
    }
  }
}

}  // namespace thalweg
