// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/fake/fake_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "thalweg/base/errno_status.h"

namespace thalweg {
namespace {

constexpr size_t kPage = 4096;
constexpr int kPoison = 0xA5;
// Beyond it a freed block gives its pages back, and reads as zeros.
constexpr size_t kMostPoisoned = size_t{1} << 20;

size_t WholeBlocks(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

void* Map(int file, size_t size, int protection) {
  return mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
}

}  // namespace

Result<std::shared_ptr<FakeMemory>> FakeMemory::Make(int64_t limit) {
  // Addresses only; a page is there once it is written.
  constexpr int64_t kMost = int64_t{1} << 36;
  const size_t size = static_cast<size_t>(std::clamp<int64_t>(limit, kPage, kMost)) / kPage * kPage;
  const int file = memfd_create("thalweg_fake_device", MFD_CLOEXEC);
  if (file < 0) return ErrnoStatus("make", "the memory of a fake device", errno);
  void* closed = MAP_FAILED;
  void* open = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(size)) == 0) {
    closed = Map(file, size, PROT_NONE);
    open = Map(file, size, PROT_READ | PROT_WRITE);
  }
  close(file);
  if (closed == MAP_FAILED || open == MAP_FAILED) {
    if (closed != MAP_FAILED) munmap(closed, size);
    if (open != MAP_FAILED) munmap(open, size);
    return ResourceExhausted("no ", size, " bytes of addresses for the memory of a fake device");
  }
  return std::shared_ptr<FakeMemory>(
      new FakeMemory(static_cast<char*>(closed), static_cast<char*>(open), size),
      [](FakeMemory* memory) { memory->Abandon(); });
}

FakeMemory::FakeMemory(char* closed, char* open, size_t size)
    : closed_(closed), open_(open), size_(size) {
  free_.emplace(0, size_);
  stats_.limit = static_cast<int64_t>(size_);
}

FakeMemory::~FakeMemory() {
  munmap(closed_, size_);
  munmap(open_, size_);
}

void FakeMemory::Abandon() {
  bool last = false;
  {
    MutexLock lock(mutex_);
    abandoned_ = true;
    last = live_ == 0;
  }
  if (last) delete this;
}

void* FakeMemory::Allocate(size_t bytes) {
  if (bytes > size_) return nullptr;
  const size_t whole = WholeBlocks(bytes);
  MutexLock lock(mutex_);
  const auto found =
      std::ranges::find_if(free_, [whole](const auto& block) { return block.second >= whole; });
  if (found == free_.end()) return nullptr;
  const auto [offset, size] = *found;
  free_.erase(found);
  if (size > whole) free_.emplace(offset + whole, size - whole);
  ++live_;
  ++stats_.num_allocations;
  stats_.bytes_in_use += static_cast<int64_t>(whole);
  stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
  stats_.bytes_kept = stats_.bytes_in_use;
  return closed_ + offset;
}

void FakeMemory::Deallocate(void* block, size_t bytes) {
  const size_t whole = WholeBlocks(bytes);
  char* const readable = static_cast<char*>(Readable(block));
  std::memset(readable, kPoison, std::min(whole, kMostPoisoned));
  if (whole > kMostPoisoned) {
    const size_t rest = (whole - kMostPoisoned) / kPage * kPage;
    char* const begin = readable + kMostPoisoned;
    char* const page = begin + (kPage - reinterpret_cast<uintptr_t>(begin) % kPage) % kPage;
    if (rest > kPage) madvise(page, rest - kPage, MADV_REMOVE);
  }
  bool last = false;
  {
    MutexLock lock(mutex_);
    const auto offset = static_cast<size_t>(static_cast<char*>(block) - closed_);
    auto here = free_.emplace(offset, whole).first;
    if (const auto next = std::next(here);
        next != free_.end() && here->first + here->second == next->first) {
      here->second += next->second;
      free_.erase(next);
    }
    if (here != free_.begin()) {
      const auto before = std::prev(here);
      if (before->first + before->second == here->first) {
        before->second += here->second;
        free_.erase(here);
      }
    }
    stats_.bytes_in_use -= static_cast<int64_t>(whole);
    stats_.bytes_kept = stats_.bytes_in_use;
    last = --live_ == 0 && abandoned_;
  }
  if (last) delete this;
}

AllocatorStats FakeMemory::Stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

}  // namespace thalweg
