// SPDX-License-Identifier: Apache-2.0
// Allocator: where the bytes of tensors come from. One per device and environment.
//
// Blocks are aligned to kTensorAlignment.
// Ownership: an environment holds the allocator by AllocatorPtr; tensors may outlive the
// environment, so the allocator itself lives until the last block has come back (pages without a
// live block return to the system at once when the AllocatorPtr goes).
// Threads: every member may be called from any thread.
// Errors: Allocate gives null; AllocationError makes of it a ResourceExhausted with size, limit and
// use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "thalweg/base/status.h"

namespace thalweg {

inline constexpr size_t kTensorAlignment = 64;

struct AllocatorStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t bytes_kept = 0;  // mapped from the system: in use or kept for reuse
  int64_t limit = 0;
  int64_t num_allocations = 0;
};

class Allocator {
 public:
  virtual ~Allocator() = default;
  // Null when the block would pass the limit or the system has none; see AllocationError.
  virtual void* Allocate(size_t bytes) = 0;
  // `bytes` as asked for in Allocate.
  virtual void Deallocate(void* block, size_t bytes) = 0;
  virtual AllocatorStats Stats() const = 0;
  // Gives pages without live blocks back to the system.
  virtual void Trim() = 0;
};

using AllocatorPtr = std::shared_ptr<Allocator>;

// ResourceExhausted with the size asked for, the limit and what is in use.
Status AllocationError(const Allocator& allocator, size_t bytes);

// The host allocator. Keeps the pages of freed blocks for reuse (a fresh page costs a fault: 14
// times the price of the copy into it); blocks of a huge page and more are aligned to it. `limit`
// in bytes; 0 means the smaller of the control group's limit and the physical memory, less a
// reserve.
AllocatorPtr MakeCpuAllocator(int64_t limit = 0);

}  // namespace thalweg
