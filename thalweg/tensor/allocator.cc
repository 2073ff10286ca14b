// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/allocator.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <typeinfo>
#include <utility>

#include "thalweg/base/cgroup.h"
#include "thalweg/tensor/block_bytes.h"
#include "thalweg/tensor/find_charged.h"
#include "thalweg/tensor/text_heap.h"
#include "thalweg/tensor/traced_allocator.h"

namespace thalweg {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMapFrom = size_t{64} << 10;  // larger blocks are mapped, smaller come from malloc
constexpr int kClassesPerDoubling = 8;         // at most 12.5 % of a block is slack
constexpr int64_t kWorthTrimming = int64_t{16} << 20;
constexpr int kClasses = 64 * kClassesPerDoubling;

// Size classes: 8 steps between powers of two, from 512 bytes up.
size_t RoundUpToClass(size_t bytes, int* cls) {
  bytes = std::max<size_t>(bytes, 512);
  const int shift = std::bit_width(bytes - 1) - 4;  // step = 1/8 of the power of two below
  const size_t step = size_t{1} << std::max(shift, 6);
  const size_t rounded = (bytes + step - 1) / step * step;
  const int doubling = std::bit_width(rounded) - 1;
  *cls = doubling * kClassesPerDoubling + static_cast<int>((rounded >> (doubling - 3)) & 7);
  return rounded;
}

int64_t SystemLimit() {
  const int64_t limit = UsableMemory();
  // A reserve for what is no tensor; small machines keep half.
  return limit - std::min(limit / 2, std::max(limit / 10, int64_t{256} << 20));
}

void* MapBlock(size_t bytes) {
  if (bytes < kMapFrom) return std::aligned_alloc(kTensorAlignment, bytes);
  const size_t align = bytes >= kHugePage ? kHugePage : 0;
  void* raw = mmap(nullptr, bytes + align, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  if (align == 0) return raw;
  // Keep the aligned part only.
  const auto start = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (start + align - 1) / align * align;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  const size_t mapped = (bytes + page - 1) / page * page;
  if (aligned > start) munmap(raw, aligned - start);
  const uintptr_t end = start + bytes + align;
  const uintptr_t used_end = aligned + mapped;
  if ((end + page - 1) / page * page > used_end)
    munmap(reinterpret_cast<void*>(used_end), (end + page - 1) / page * page - used_end);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

void UnmapBlock(void* block, size_t bytes) {
  if (bytes < kMapFrom) {
    std::free(block);
  } else {
    munmap(block, bytes);
  }
}

class CpuAllocator final : public ChargedAllocator {
 public:
  explicit CpuAllocator(int64_t limit) { stats_.limit = limit > 0 ? limit : SystemLimit(); }

  void* Allocate(size_t bytes) override {
    if (bytes > static_cast<size_t>(stats_.limit)) return nullptr;
    int cls = 0;
    const size_t size = RoundUpToClass(bytes, &cls);
    std::lock_guard lock(mutex_);
    if (stats_.bytes_in_use + static_cast<int64_t>(size) > stats_.limit) return nullptr;
    void* block = free_[cls];
    if (block != nullptr) {
      free_[cls] = static_cast<FreeBlock*>(block)->next;
    } else {
      MakeRoomLocked(static_cast<int64_t>(size));
      block = MapBlock(size);
      if (block == nullptr) return nullptr;
      stats_.bytes_kept += static_cast<int64_t>(size);
    }
    stats_.bytes_in_use += static_cast<int64_t>(size);
    stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
    ++stats_.num_allocations;
    ++live_;
    return block;
  }

  void Deallocate(void* block, size_t bytes) override {
    int cls = 0;
    const size_t size = RoundUpToClass(bytes, &cls);
    bool last = false;
    {
      std::lock_guard lock(mutex_);
      stats_.bytes_in_use -= static_cast<int64_t>(size);
      --live_;
      if (closed_) {
        UnmapBlock(block, size);
        last = NothingLivesLocked();
      } else {
        auto* free_block = static_cast<FreeBlock*>(block);
        free_block->next = free_[cls];
        free_[cls] = free_block;
      }
    }
    if (last) delete this;
  }

  bool Charge(size_t bytes) override {
    if (bytes > static_cast<size_t>(stats_.limit)) return false;
    const auto size = static_cast<int64_t>(bytes);
    std::lock_guard lock(mutex_);
    if (stats_.bytes_in_use + size > stats_.limit) return false;
    const int64_t reused = std::min(size, heap_kept_);
    heap_kept_ -= reused;
    MakeRoomLocked(size - reused);
    charged_ += size;
    stats_.bytes_in_use += size;
    stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
    return true;
  }

  void Discharge(size_t bytes) override {
    bool last = false;
    {
      std::lock_guard lock(mutex_);
      charged_ -= static_cast<int64_t>(bytes);
      heap_kept_ += static_cast<int64_t>(bytes);
      stats_.bytes_in_use -= static_cast<int64_t>(bytes);
      last = closed_ && NothingLivesLocked();
    }
    if (last) delete this;
  }

  AllocatorStats Stats() const override {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void Trim() override {
    std::lock_guard lock(mutex_);
    TrimLocked();
  }

  // The environment lets go: from now on blocks go straight back, and the last one takes the
  // allocator along.
  void Close() {
    bool last = false;
    {
      std::lock_guard lock(mutex_);
      TrimLocked();
      closed_ = true;
      last = NothingLivesLocked();
    }
    if (last) delete this;
  }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };

  bool NothingLivesLocked() const { return live_ == 0 && charged_ == 0; }

  // Pages that are kept count as much as those in use.
  void MakeRoomLocked(int64_t bytes) {
    if (stats_.bytes_kept + charged_ + heap_kept_ + bytes > stats_.limit) TrimLocked();
  }

  void TrimLocked() {
    if (std::exchange(heap_kept_, 0) > kWorthTrimming) malloc_trim(0);
    for (int cls = 0; cls < kClasses; ++cls) {
      const size_t size = ClassSize(cls);
      while (free_[cls] != nullptr) {
        FreeBlock* block = free_[cls];
        free_[cls] = block->next;
        UnmapBlock(block, size);
        stats_.bytes_kept -= static_cast<int64_t>(size);
      }
    }
  }

  static size_t ClassSize(int cls) {
    const int doubling = cls / kClassesPerDoubling;
    if (doubling < 3) return 0;
    return (size_t{8} + static_cast<size_t>(cls % kClassesPerDoubling)) << (doubling - 3);
  }

  mutable std::mutex mutex_;
  FreeBlock* free_[kClasses] = {};
  AllocatorStats stats_;
  int64_t charged_ = 0;
  int64_t heap_kept_ = 0;  // was charged, and malloc may keep it for those who come
  int64_t live_ = 0;
  bool closed_ = false;
};

}  // namespace

ChargedAllocator* FindCharged(Allocator& allocator) {
  if (typeid(allocator) == typeid(CpuAllocator)) return static_cast<CpuAllocator*>(&allocator);
  if (const auto* const traced = dynamic_cast<TracedAllocator*>(&allocator)) {
    return FindCharged(traced->inner());
  }
  return dynamic_cast<ChargedAllocator*>(&allocator);
}

size_t BlockBytes(const Allocator& allocator, size_t bytes) {
  int cls = 0;
  return typeid(allocator) == typeid(CpuAllocator) ? RoundUpToClass(bytes, &cls) : bytes;
}

Status AllocationError(const Allocator& allocator, size_t bytes) {
  const AllocatorStats stats = allocator.Stats();
  return ResourceExhausted(
      "out of memory: ", bytes, " bytes asked for, ", stats.bytes_in_use, " of ", stats.limit,
      " in use (raise the memory limit of the session, or use smaller tensors)");
}

AllocatorPtr MakeCpuAllocator(int64_t limit) {
  auto allocator = std::make_unique<CpuAllocator>(limit);
  return AllocatorPtr(allocator.release(),
                      [](Allocator* a) { static_cast<CpuAllocator*>(a)->Close(); });
}

}  // namespace thalweg
