// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/bus_errors.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "thalweg/base/mutex.h"

namespace thalweg {
namespace {

// What the handler reads: atomics without locks, in memory that is never freed.
struct Range {
  std::atomic<uintptr_t> begin{0};  // 0: the slot is free
  std::atomic<size_t> size{0};
  std::atomic<bool> is_broken{false};
};

constexpr size_t kMostRanges = 4096;
constinit std::array<Range, kMostRanges> ranges;
constinit std::atomic<size_t> used{0};  // slots below it may have a range

// The handlers that were there before, the newest last; an entry is written before it is counted.
constexpr size_t kMostFormer = 8;
constinit std::array<struct sigaction, kMostFormer> former{};
constinit std::atomic<size_t> num_former{0};

// What this thread has given to a former handler. Of the library's own block of thread memory: a
// handler may not allocate any.
struct Passed {
  bool any = false;
  const siginfo_t* info = nullptr;  // of the one that runs, and the frame that it was called from
  const void* frame = nullptr;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Passed passed;

static_assert(std::atomic<uintptr_t>::is_always_lock_free &&
              std::atomic<size_t>::is_always_lock_free);

// Maps zeros where the fault was, if that is in a range.
bool Mend(uintptr_t at) {
  const size_t count = used.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    Range& range = ranges[i];
    const uintptr_t begin = range.begin.load(std::memory_order_acquire);
    const size_t size = range.size.load(std::memory_order_acquire);
    // A slot whose range is another one now is not that of an address in use.
    if (begin == 0 || at < begin || at - begin >= size) continue;
    if (range.begin.load(std::memory_order_acquire) != begin) continue;
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t from = at / page * page;
    range.is_broken.store(true, std::memory_order_release);
    // Two threads may do so at once: both map zeros.
    void* const made = mmap(reinterpret_cast<void*>(from), begin + size - from, PROT_READ,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    return made != MAP_FAILED;
  }
  return false;
}

// As if there were no handler. A fault happens again when this returns.
void EndAsByDefault(bool is_fault) {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  sigaction(SIGBUS, &by_default, nullptr);
  if (!is_fault) raise(SIGBUS);
}

bool IsFunction(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void PassOn(int signal, siginfo_t* info, void* context, bool is_fault) {
  const void* const frame = __builtin_frame_address(0);
  const size_t count = num_former.load(std::memory_order_acquire);
  if (count == 0) return EndAsByDefault(is_fault);
  const struct sigaction& before = former[count - 1];
  if (!IsFunction(before)) {
    if (before.sa_handler == SIG_IGN && !is_fault) return;
    return EndAsByDefault(is_fault);
  }
  // A former handler that leads back here has nothing else to do, and one that sends the signal
  // after a fault means to end the process.
  const bool leads_back = passed.info == info && frame < passed.frame;
  if (leads_back || (passed.any && !is_fault)) return EndAsByDefault(is_fault);
  passed = {is_fault, info, frame};
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else {
    before.sa_handler(signal);
  }
  passed.info = nullptr;
}

void Handle(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool is_fault = info->si_code > 0;  // else somebody has sent it
  if (!is_fault || !Mend(reinterpret_cast<uintptr_t>(info->si_addr))) {
    PassOn(signal, info, context, is_fault);
  }
  errno = saved;
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &Handle;
}

bool IsSame(const struct sigaction& a, const struct sigaction& b) {
  if ((a.sa_flags & SA_SIGINFO) != (b.sa_flags & SA_SIGINFO)) return false;
  return (a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction
                                        : a.sa_handler == b.sa_handler;
}

Mutex& TableMutex() {
  static Mutex mutex;
  return mutex;
}

}  // namespace

void BusErrors::Watch() {
  struct sigaction now {};
  if (sigaction(SIGBUS, nullptr, &now) != 0 || IsOurs(now)) return;
  const MutexLock lock(TableMutex());
  if (sigaction(SIGBUS, nullptr, &now) != 0 || IsOurs(now)) return;
  const size_t count = num_former.load(std::memory_order_acquire);
  if (count == 0 || !IsSame(former[count - 1], now)) {
    const size_t place = std::min(count, kMostFormer - 1);
    former[place] = now;
    num_former.store(place + 1, std::memory_order_release);
  }
  struct sigaction ours {};
  ours.sa_sigaction = &Handle;
  // On the stack for signals, where the thread has one.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, nullptr);
}

Result<int> BusErrors::Add(const void* data, size_t size) {
  Watch();
  const MutexLock lock(TableMutex());
  for (size_t i = 0; i < kMostRanges; ++i) {
    Range& range = ranges[i];
    if (range.begin.load(std::memory_order_relaxed) != 0) continue;
    range.is_broken.store(false, std::memory_order_relaxed);
    range.size.store(size, std::memory_order_release);
    range.begin.store(reinterpret_cast<uintptr_t>(data), std::memory_order_release);
    if (used.load(std::memory_order_relaxed) <= i) used.store(i + 1, std::memory_order_release);
    return static_cast<int>(i);
  }
  return ResourceExhausted("this process has mapped ", kMostRanges, " files, the most that it may");
}

void BusErrors::Remove(int slot) {
  const MutexLock lock(TableMutex());
  ranges[static_cast<size_t>(slot)].begin.store(0, std::memory_order_release);
}

bool BusErrors::IsBroken(int slot) {
  return ranges[static_cast<size_t>(slot)].is_broken.load(std::memory_order_acquire);
}

}  // namespace thalweg
