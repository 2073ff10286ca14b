// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/process_counters.h"

#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <new>

namespace {
std::atomic<int64_t> allocations{0};
std::atomic<int64_t> clock_readings{0};
std::atomic<int64_t> bytes_held{0};
std::atomic<int64_t> peak_bytes{0};

void* CountedBlock(size_t bytes) {
  ++allocations;
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  const int64_t held = bytes_held += static_cast<int64_t>(malloc_usable_size(block));
  for (int64_t peak = peak_bytes; peak < held && !peak_bytes.compare_exchange_weak(peak, held);) {
  }
  return block;
}

void FreeCounted(void* block) {
  bytes_held -= static_cast<int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace

// They count and do what the standard ones do.
void* operator new(size_t bytes) {
  if (void* const block = CountedBlock(bytes)) return block;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return CountedBlock(bytes); }
void operator delete(void* block) noexcept { FreeCounted(block); }
void operator delete(void* block, size_t) noexcept { FreeCounted(block); }

// Where std::chrono's clocks end.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  ++clock_readings;
  return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}

namespace thalweg {

int64_t AllocationsSoFar() { return allocations; }
int64_t ClockReadingsSoFar() { return clock_readings; }
int64_t BytesHeld() { return bytes_held; }
int64_t PeakBytes() { return peak_bytes; }
void ForgetPeak() { peak_bytes = bytes_held.load(); }

}  // namespace thalweg
