// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

namespace thalweg {
namespace {

// As linux/futex.h and the system call table have them since Linux 5.16.
constexpr long kFutexWaitv = 449;
constexpr uint32_t kSize32 = 2;
constexpr uint32_t kPrivate = 128;

struct WaitEntry {
  uint64_t value = 0;
  uint64_t address = 0;
  uint32_t flags = 0;
  uint32_t reserved = 0;
};

timespec TimeOf(Clock::TimePoint until) {
  const auto since = until.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  return {.tv_sec = static_cast<time_t>(seconds.count()),
          .tv_nsec = static_cast<long>(
              std::chrono::duration_cast<std::chrono::nanoseconds>(since - seconds).count())};
}

WaitEntry EntryOf(const std::atomic<uint32_t>& word, uint32_t value, uint32_t flags) {
  return {.value = value, .address = reinterpret_cast<uintptr_t>(&word), .flags = flags};
}

}  // namespace

void SleepOnWord(const std::atomic<uint32_t>& word, uint32_t value, Clock::TimePoint until) {
  const timespec time = TimeOf(until);
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value,
          until == Clock::TimePoint::max() ? nullptr : &time, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void WakeWord(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void SleepOnWords(const std::atomic<uint32_t>& word, uint32_t value,
                  std::span<const FutexWord> shared, Clock::TimePoint until) {
  if (shared.empty()) return SleepOnWord(word, value, until);
  std::array<WaitEntry, kMostSharedWords + 1> entries;
  size_t n = 0;
  entries[n++] = EntryOf(word, value, kSize32 | kPrivate);
  for (const FutexWord& other : shared.first(std::min(shared.size(), kMostSharedWords))) {
    entries[n++] = EntryOf(*other.word, other.value, kSize32);
  }
  const timespec time = TimeOf(until);
  syscall(kFutexWaitv, entries.data(), n, 0, until == Clock::TimePoint::max() ? nullptr : &time,
          CLOCK_MONOTONIC);
}

void WakeSharedWord(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

bool HasSharedWords() {
  // A word that is not as expected ends the sleep at once, where the call is known.
  static const bool has = [] {
    const std::atomic<uint32_t> word{0};
    const WaitEntry entry = EntryOf(word, 1, kSize32 | kPrivate);
    return syscall(kFutexWaitv, &entry, 1, 0, nullptr, CLOCK_MONOTONIC) < 0 && errno == EAGAIN;
  }();
  return has;
}

}  // namespace thalweg
