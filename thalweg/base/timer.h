// SPDX-License-Identifier: Apache-2.0
// Timer: runs a callback when a deadline passes. One thread for each Timer, started by the first
// entry.
//
//   Timer timer(clock);
//   Timer::Entry entry = timer.Add(deadline, [&] { step.Fail(DeadlineExceeded("...")); });
//   ...
//   timer.Remove(entry);   // the callback has not run and never will, or has ended
//
// Ownership: what a callback points at lives until Remove() returns. The destructor drops entries
// that are not due.
// Threads: all calls from any thread, from callbacks too. Callbacks run one after the other on the
// timer's thread, with no lock held; they must be short. Adding and removing costs a lock and no
// clock is read; a deadline that is never makes no entry at all. A forked process has the entries
// that it adds itself, and a thread for them.
// Errors: none; std::system_error where the first entry gets no thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "thalweg/base/deadline.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/no_destructor.h"
#include "thalweg/base/thread.h"

namespace thalweg {

class Timer {
 public:
  struct Entry {
    Clock::TimePoint time;
    uint64_t id = 0;  // 0: no entry
    auto operator<=>(const Entry&) const = default;
  };

  explicit Timer(Clock& clock) : clock_(clock) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer();

  Entry Add(Deadline deadline, std::function<void()> callback) EXCLUDES(mutex_);
  // True: the callback never runs. False: it ran before (this waits until it has ended, except from
  // inside it).
  bool Remove(const Entry& entry) EXCLUDES(mutex_);

 private:
  void Start() REQUIRES(mutex_);
  void Loop() EXCLUDES(mutex_);

  Clock& clock_;
  Mutex mutex_;
  NoDestructor<CondVar> changed_;   // for the thread: a new first entry, or stop
  NoDestructor<CondVar> finished_;  // for Remove(): a callback has ended
  std::map<Entry, std::function<void()>> entries_ GUARDED_BY(mutex_);
  uint64_t next_id_ GUARDED_BY(mutex_) = 1;
  uint64_t running_id_ GUARDED_BY(mutex_) = 0;
  bool stop_ GUARDED_BY(mutex_) = false;
  Thread thread_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
