// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/heap_meter.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace thalweg {
namespace {

std::atomic<int64_t> uncharged{0};
std::atomic<int64_t> peak{0};
constinit thread_local int unmetered = 0;

[[maybe_unused]] void* CountedBlock(void* block) {
  if (block != nullptr && unmetered == 0) {
    HeapMeter::Charge(-static_cast<int64_t>(malloc_usable_size(block)));
    HeapMeter::RaisePeak(HeapMeter::Uncharged());
  }
  return block;
}

}  // namespace

int64_t HeapMeter::Uncharged() { return uncharged; }
void HeapMeter::Charge(int64_t bytes) { uncharged -= bytes; }
int64_t HeapMeter::Peak() { return peak; }
void HeapMeter::ForgetPeak() { peak = uncharged.load(); }
void HeapMeter::RaisePeak(int64_t to) {
  for (int64_t last = peak; last < to && !peak.compare_exchange_weak(last, to);) {
  }
}

UnmeteredHeap::UnmeteredHeap() { ++unmetered; }
UnmeteredHeap::~UnmeteredHeap() { --unmetered; }

}  // namespace thalweg

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// NOLINTBEGIN(bugprone-reserved-identifier, readability-inconsistent-declaration-parameter-name):
// glibc's own names
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t n, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);

void* malloc(size_t bytes) { return thalweg::CountedBlock(__libc_malloc(bytes)); }
void* calloc(size_t n, size_t bytes) { return thalweg::CountedBlock(__libc_calloc(n, bytes)); }
void* memalign(size_t alignment, size_t bytes) {
  return thalweg::CountedBlock(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** block, size_t alignment, size_t bytes) {
  void* const made = memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}
void free(void* block) {
  if (block != nullptr && thalweg::unmetered == 0) {
    thalweg::HeapMeter::Charge(static_cast<int64_t>(malloc_usable_size(block)));
  }
  __libc_free(block);
}
// Both blocks are there while the bytes are copied.
void* realloc(void* block, size_t bytes) {
  const size_t before = block == nullptr ? 0 : malloc_usable_size(block);
  void* const made = __libc_realloc(block, bytes);
  if (made != nullptr || bytes == 0) {
    thalweg::CountedBlock(made);
    if (thalweg::unmetered == 0) thalweg::HeapMeter::Charge(static_cast<int64_t>(before));
  }
  return made;
}
}
// NOLINTEND

#endif
