// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/gpu_memory.h"

#include <sys/mman.h>

#include <algorithm>

namespace thalweg {
namespace {

constexpr size_t kPageOfRange = 4096;
constexpr size_t kFirstChunk = size_t{8} << 20;
constexpr size_t kUsualChunk = size_t{256} << 20;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

Result<std::shared_ptr<GpuMemory>> GpuMemory::Make(std::shared_ptr<GpuDriver> driver,
                                                   int64_t limit) {
  const size_t most = static_cast<size_t>(std::max<int64_t>(limit, kPageOfRange));
  // Addresses only, and plenty: those of a chunk that was given back are not used again before all
  // chunks are gone.
  const size_t size = 8 * RoundUp(most, kPageOfRange) + (size_t{1} << 30);
  void* const range =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    return ResourceExhausted("no ", size, " bytes of addresses for the memory of ",
                             driver->traits().ToString());
  }
  return std::shared_ptr<GpuMemory>(
      new GpuMemory(std::move(driver), static_cast<char*>(range), size, most),
      [](GpuMemory* memory) { memory->Abandon(); });
}

GpuMemory::~GpuMemory() {
  for (const auto& [at, chunk] : chunks_) driver_->ReleaseBuffer(chunk.buffer);
  munmap(range_, range_size_);
}

void GpuMemory::Abandon() {
  bool last = false;
  {
    MutexLock lock(mutex_);
    abandoned_ = true;
    DropUnusedChunks();
    last = live_ == 0;
  }
  if (last) delete this;
}

void GpuMemory::AddFree(size_t at, size_t size) {
  free_.emplace(at, size);
  free_by_size_.emplace(size, at);
}

void GpuMemory::RemoveFree(std::map<size_t, size_t>::iterator block) {
  free_by_size_.erase({block->second, block->first});
  free_.erase(block);
}

bool GpuMemory::AddChunkOf(size_t size) {
  if (size > limit_ - kept_ || range_size_ - next_ < size + kPageOfRange) return false;
  const Result<GpuBuffer> buffer = driver_->MakeBuffer(size);
  if (!buffer.ok()) {
    if (buffer.status().code() == Code::kUnavailable && lost_.ok()) lost_ = buffer.status();
    return false;
  }
  chunks_.emplace(next_, Chunk{*buffer, size, 0});
  AddFree(next_, size);
  next_ += RoundUp(size, kPageOfRange) + kPageOfRange;
  kept_ += size;
  return true;
}

bool GpuMemory::AddChunk(size_t bytes) {
  const size_t largest = driver_->traits().largest_buffer;
  if (bytes > limit_ || (largest > 0 && bytes > largest)) return false;
  // Twice what there is, so that there are few.
  size_t wanted = std::clamp(kept_, kFirstChunk, kUsualChunk);
  wanted = std::max(RoundUp(bytes, kPageOfRange), wanted);
  if (largest > 0) wanted = std::min(wanted, largest);
  wanted = std::max(std::min(wanted, limit_ - kept_) / kTensorAlignment * kTensorAlignment, bytes);
  if (AddChunkOf(wanted) || (wanted > bytes && AddChunkOf(bytes))) return true;
  DropUnusedChunks();
  return AddChunkOf(bytes);
}

void* GpuMemory::Allocate(size_t bytes) {
  if (bytes > limit_) return nullptr;
  const size_t whole = RoundUp(std::max<size_t>(bytes, 1), kTensorAlignment);
  MutexLock lock(mutex_);
  auto found = free_by_size_.lower_bound({whole, 0});
  if (found == free_by_size_.end()) {
    if (!AddChunk(whole)) return nullptr;
    found = free_by_size_.lower_bound({whole, 0});
  }
  const auto [size, at] = *found;
  RemoveFree(free_.find(at));
  if (size > whole) AddFree(at + whole, size - whole);
  std::prev(chunks_.upper_bound(at))->second.used += whole;
  ++live_;
  ++stats_.num_allocations;
  stats_.bytes_in_use += static_cast<int64_t>(whole);
  stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
  return range_ + at;
}

void GpuMemory::Deallocate(void* block, size_t bytes) {
  size_t size = RoundUp(std::max<size_t>(bytes, 1), kTensorAlignment);
  bool last = false;
  {
    MutexLock lock(mutex_);
    auto at = static_cast<size_t>(static_cast<char*>(block) - range_);
    std::prev(chunks_.upper_bound(at))->second.used -= size;
    stats_.bytes_in_use -= static_cast<int64_t>(size);
    const auto next = free_.lower_bound(at);
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == at) {
        at = before->first;
        size += before->second;
        RemoveFree(before);
      }
    }
    if (next != free_.end() && at + size == next->first) {
      size += next->second;
      RemoveFree(next);
    }
    AddFree(at, size);
    if (abandoned_) DropUnusedChunks();
    last = --live_ == 0 && abandoned_;
  }
  if (last) delete this;
}

// A buffer that queued work still uses is released by the driver when that has ended.
void GpuMemory::DropUnusedChunks() {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
    if (chunk->second.used > 0) {
      ++chunk;
      continue;
    }
    RemoveFree(free_.find(chunk->first));
    driver_->ReleaseBuffer(chunk->second.buffer);
    kept_ -= chunk->second.size;
    chunk = chunks_.erase(chunk);
  }
  if (chunks_.empty()) next_ = 0;
}

void GpuMemory::Trim() {
  MutexLock lock(mutex_);
  DropUnusedChunks();
}

AllocatorStats GpuMemory::Stats() const {
  MutexLock lock(mutex_);
  AllocatorStats stats = stats_;
  stats.bytes_kept = static_cast<int64_t>(kept_);
  return stats;
}

Status GpuMemory::lost() const {
  MutexLock lock(mutex_);
  return lost_;
}

GpuPlace GpuMemory::PlaceOf(const void* address) const {
  if (!Contains(address)) return {};
  const auto at = static_cast<size_t>(static_cast<const char*>(address) - range_);
  MutexLock lock(mutex_);
  auto chunk = chunks_.upper_bound(at);
  if (chunk == chunks_.begin()) return {};
  --chunk;
  if (at - chunk->first >= chunk->second.size) return {};
  return {chunk->second.buffer, at - chunk->first};
}

}  // namespace thalweg
