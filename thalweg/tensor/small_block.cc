// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/small_block.h"

#include <cstdlib>

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
constexpr int kKeptPerClass = 1024;  // at most 1.3 MB a thread

struct FreeBlock {
  FreeBlock* next;
};

struct ThreadCache {
  FreeBlock* head[kBlockClasses] = {};
  int count[kBlockClasses] = {};
  bool ended = false;
  ~ThreadCache() {
    ended = true;  // tensors in other thread-local objects may still come back after this
    for (FreeBlock*& list : head) {
      while (list != nullptr) {
        FreeBlock* block = list;
        list = block->next;
        std::free(block);
      }
    }
  }
};

thread_local ThreadCache cache;

int ClassOf(size_t bytes) { return static_cast<int>((bytes + kGrain - 1) / kGrain) - 1; }

}  // namespace

void* AllocateSmallBlock(size_t bytes) {
  const int cls = ClassOf(bytes);
  if (FreeBlock* block = cache.head[cls]; block != nullptr) {
    cache.head[cls] = block->next;
    --cache.count[cls];
    return block;
  }
  return std::aligned_alloc(64, (cls + 1) * kGrain);
}

void FreeSmallBlock(void* block, size_t bytes) {
  const int cls = ClassOf(bytes);
  if (cache.count[cls] >= kKeptPerClass || cache.ended) {
    std::free(block);
    return;
  }
  auto* free_block = static_cast<FreeBlock*>(block);
  free_block->next = cache.head[cls];
  cache.head[cls] = free_block;
  ++cache.count[cls];
}

#endif

}  // namespace thalweg
