// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/small_block.h"

#include <cstdlib>
#include <utility>

#include "thalweg/base/mutex.h"
#include "thalweg/base/prefetch.h"

// Under the address sanitizer every block is one of malloc, of just the size asked for: a cache
// would hide reads and writes beside it and after its end.
#if defined(__SANITIZE_ADDRESS__)
#define THALWEG_SMALL_BLOCKS_FROM_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define THALWEG_SMALL_BLOCKS_FROM_MALLOC 1
#endif
#endif

namespace thalweg {

#ifdef THALWEG_SMALL_BLOCKS_FROM_MALLOC

void* AllocateSmallBlock(size_t bytes) {
  void* block = nullptr;
  return posix_memalign(&block, 64, bytes) == 0 ? block : nullptr;
}

void FreeSmallBlock(void* block, size_t) { std::free(block); }

#else

namespace {

constexpr size_t kGrain = 128;
constexpr int kBlockClasses = kMaxSmallBlock / kGrain;
constexpr int kListBlocks = 512;  // of a whole list
constexpr int kDepotLists = 4;    // for each class: at most 2.6 MB

struct FreeBlock {
  FreeBlock* next;
};

void FreeList(FreeBlock* list) {
  while (list != nullptr) {
    FreeBlock* const block = list;
    list = block->next;
    std::free(block);
  }
}

// Whole lists of threads that free more than they make, for those that make more than they free:
// the two ends of a queue. Nobody waits for another thread here, which a fork may lack.
class Depot {
 public:
  constexpr Depot() = default;
  // False: it is full, or in use.
  bool Put(int cls, FreeBlock* list) {
    if (!mutex_.TryLock()) return false;
    const bool has_place = count_[cls] < kDepotLists;
    if (has_place) lists_[cls][count_[cls]++] = list;
    mutex_.Unlock();
    return has_place;
  }
  // Null: it has none, or is in use.
  FreeBlock* Take(int cls) {
    if (!mutex_.TryLock()) return nullptr;
    FreeBlock* const list = count_[cls] == 0 ? nullptr : lists_[cls][--count_[cls]];
    mutex_.Unlock();
    return list;
  }

 private:
  Mutex mutex_;
  FreeBlock* lists_[kBlockClasses][kDepotLists] GUARDED_BY(mutex_) = {};
  int count_[kBlockClasses] GUARDED_BY(mutex_) = {};
};

constinit Depot depot;

struct ThreadCache {
  FreeBlock* head[kBlockClasses] = {};
  int count[kBlockClasses] = {};         // of head: at most kListBlocks
  FreeBlock* whole[kBlockClasses] = {};  // a list of kListBlocks, or none: at most 1.3 MB a thread
  bool ended = false;
  ~ThreadCache() {
    ended = true;  // tensors in other thread-local objects may still come back after this
    for (int cls = 0; cls < kBlockClasses; ++cls) {
      FreeList(std::exchange(head[cls], nullptr));
      FreeList(std::exchange(whole[cls], nullptr));
    }
  }
};

thread_local ThreadCache cache;

int ClassOf(size_t bytes) { return static_cast<int>((bytes + kGrain - 1) / kGrain) - 1; }

// Makes a list that is kept, or another thread's, the one that blocks are taken from.
[[gnu::noinline]] bool Refill(int cls) {
  FreeBlock* list = std::exchange(cache.whole[cls], nullptr);
  if (list == nullptr && !cache.ended) list = depot.Take(cls);
  if (list == nullptr) return false;
  cache.head[cls] = list;
  cache.count[cls] = kListBlocks;
  return true;
}

// Begins a new list after a whole one.
[[gnu::noinline]] void SetAside(int cls) {
  FreeBlock* const before =
      std::exchange(cache.whole[cls], std::exchange(cache.head[cls], nullptr));
  cache.count[cls] = 0;
  if (before != nullptr && !depot.Put(cls, before)) FreeList(before);
}

}  // namespace

void* AllocateSmallBlock(size_t bytes) {
  const int cls = ClassOf(bytes);
  if (cache.head[cls] == nullptr && !Refill(cls)) {
    return std::aligned_alloc(64, (cls + 1) * kGrain);
  }
  FreeBlock* const block = cache.head[cls];
  cache.head[cls] = block->next;
  --cache.count[cls];
  // Another thread may have freed it long ago, as those do that take what this one puts in a queue.
  Prefetch(block->next, bytes);
  return block;
}

void FreeSmallBlock(void* block, size_t bytes) {
  if (cache.ended) return std::free(block);
  const int cls = ClassOf(bytes);
  if (cache.count[cls] == kListBlocks) SetAside(cls);
  auto* free_block = static_cast<FreeBlock*>(block);
  free_block->next = cache.head[cls];
  cache.head[cls] = free_block;
  ++cache.count[cls];
}

#endif

}  // namespace thalweg
