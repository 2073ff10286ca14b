// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/process_counters.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <new>

namespace {
std::atomic<int64_t> allocations{0};
std::atomic<int64_t> clock_readings{0};
}  // namespace

// They count and do what the standard ones do.
void* operator new(size_t bytes) {
  ++allocations;
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }

// Where std::chrono's clocks end.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  ++clock_readings;
  return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}

namespace thalweg {

int64_t AllocationsSoFar() { return allocations; }
int64_t ClockReadingsSoFar() { return clock_readings; }

}  // namespace thalweg
