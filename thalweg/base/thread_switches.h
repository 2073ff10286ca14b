// SPDX-License-Identifier: Apache-2.0
// ThreadSwitches: when a thread had no processor, as the kernel's scheduler tells: it waited for
// something, or another thread was let run in its place.
//
//   ThreadSwitches::Watch watch;                     // this thread, while it lives
//   std::vector<ThreadSwitch> switches;
//   if (!watch.status().ok()) Note(watch.status());  // what the system does not permit
//   watch.Take(&switches);                           // since it was made, or the last call
//
// The kernel writes them into memory of the thread's own (perf_event_open), 224 at most between two
// calls of Take, the oldest go first. To begin that and to end it takes some 4 us, so a thread that
// was watched goes on being counted until it rests: Rest() is for who goes on without a watch.
// Ownership: a watch owns nothing; what the kernel writes into belongs to the thread.
// Threads: a watch is used by the thread that made it.
// Errors: PermissionDenied, Unimplemented or ResourceExhausted as status(), where Take gives
// nothing: for good, as a thread asks once.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/base/thread_owner.h"

namespace thalweg {

struct ThreadSwitch {
  int64_t out_nanos = 0;  // of std::chrono::steady_clock
  int64_t in_nanos = 0;
  bool is_preempted = false;  // it could have gone on
};

class ThreadSwitches {
 public:
  class Watch {
   public:
    Watch();
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    const Status& status() const { return of_.status_; }
    // Whether there is anything to take: a look at memory.
    bool HasNews() const;
    // Those that have ended, behind what is in `into`.
    void Take(std::vector<ThreadSwitch>* into);

   private:
    ThreadSwitches& of_;
    uint64_t read_;
  };

  // Nothing more is counted for this thread, unless a watch lives.
  static void Rest() {
    if (lingers_) [[unlikely]]
      EndCounting();
  }
  static bool IsCounting() { return OfThisThread().counts_; }

  ~ThreadSwitches();
  ThreadSwitches(const ThreadSwitches&) = delete;
  ThreadSwitches& operator=(const ThreadSwitches&) = delete;

 private:
  ThreadSwitches();
  static ThreadSwitches& OfThisThread();
  static void EndCounting();
  void SetCounting(bool counts);
  uint64_t Written() const;  // bytes, since the thread was first watched
  void Read(uint64_t from, uint64_t to, std::vector<ThreadSwitch>* into) const;

  const ThreadOwner owner_;
  Status status_;
  int fd_ = -1;
  void* memory_ = nullptr;  // a page that says how far the kernel is, then what it wrote
  int watches_ = 0;
  bool counts_ = false;
  static inline thread_local bool lingers_ = false;  // it counts, and no watch lives
};

}  // namespace thalweg
