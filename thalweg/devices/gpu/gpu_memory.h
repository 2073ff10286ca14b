// SPDX-License-Identifier: Apache-2.0
// GpuMemory: the memory of a device as addresses. What tensors carry is an address of a range that
// is mapped without rights, of which every part stands for a part of a driver's buffer. The host
// that touches one faults there and then.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<GpuMemory> memory, GpuMemory::Make(driver, limit));
//   void* block = memory->Allocate(100);
//   const GpuPlace place = memory->PlaceOf(block);   // place.buffer, place.offset in bytes
//
// Buffers are large and kept; blocks are parts of them, the smallest that fits first.
// Ownership: as Allocator: lives until the last block has come back; shares the driver.
// Threads: every member from any.
// Errors: ResourceExhausted where the system gives no such range; Allocate gives null; PlaceOf a
// null buffer for an address of elsewhere.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "thalweg/base/mutex.h"
#include "thalweg/devices/gpu/gpu_driver.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

class GpuMemory : public Allocator {
 public:
  static Result<std::shared_ptr<GpuMemory>> Make(std::shared_ptr<GpuDriver> driver, int64_t limit);

  void* Allocate(size_t bytes) override EXCLUDES(mutex_);
  void Deallocate(void* block, size_t bytes) override EXCLUDES(mutex_);
  AllocatorStats Stats() const override EXCLUDES(mutex_);
  // Gives buffers without a live block back to the driver.
  void Trim() override EXCLUDES(mutex_);

  // What the driver said where there was no buffer as the device is lost; else OK.
  Status lost() const EXCLUDES(mutex_);

  bool Contains(const void* address) const {
    const char* const at = static_cast<const char*>(address);
    return at >= range_ && at < range_ + range_size_;
  }
  GpuPlace PlaceOf(const void* address) const EXCLUDES(mutex_);

 private:
  struct Chunk {
    GpuBuffer buffer = nullptr;
    size_t size = 0;
    size_t used = 0;
  };

  GpuMemory(std::shared_ptr<GpuDriver> driver, char* range, size_t range_size, size_t limit)
      : driver_(std::move(driver)), range_(range), range_size_(range_size), limit_(limit) {
    stats_.limit = static_cast<int64_t>(limit);
  }
  ~GpuMemory() override;
  // The last AllocatorPtr has gone.
  void Abandon() EXCLUDES(mutex_);

  // A new chunk with room for so many bytes, as one free block; false where there is none.
  bool AddChunk(size_t bytes) REQUIRES(mutex_);
  bool AddChunkOf(size_t size) REQUIRES(mutex_);
  void DropUnusedChunks() REQUIRES(mutex_);
  void AddFree(size_t at, size_t size) REQUIRES(mutex_);
  void RemoveFree(std::map<size_t, size_t>::iterator block) REQUIRES(mutex_);

  const std::shared_ptr<GpuDriver> driver_;
  char* const range_;
  const size_t range_size_;
  const size_t limit_;
  mutable Mutex mutex_;
  // All by offset in the range. Between chunks there is a page of nobody, so that free blocks of
  // two never touch.
  std::map<size_t, Chunk> chunks_ GUARDED_BY(mutex_);
  std::map<size_t, size_t> free_ GUARDED_BY(mutex_);
  std::set<std::pair<size_t, size_t>> free_by_size_ GUARDED_BY(mutex_);  // size, offset
  size_t next_ GUARDED_BY(mutex_) = 0;                                   // of a new chunk
  size_t kept_ GUARDED_BY(mutex_) = 0;                                   // bytes of all chunks
  AllocatorStats stats_ GUARDED_BY(mutex_);
  int64_t live_ GUARDED_BY(mutex_) = 0;
  bool abandoned_ GUARDED_BY(mutex_) = false;
  Status lost_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
