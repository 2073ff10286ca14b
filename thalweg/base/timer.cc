// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/timer.h"

#include <new>

namespace thalweg {

Timer::~Timer() {
  if (!thread_.IsHere()) return;  // the lock may be that of a thread which a fork does not have
  {
    MutexLock lock(mutex_);
    stop_ = true;
    changed_->NotifyAll();
  }
  thread_.Join();
}

Timer::Entry Timer::Add(Deadline deadline, std::function<void()> callback) {
  if (deadline.IsNever()) return Entry{};
  MutexLock lock(mutex_);
  if (!thread_.IsHere()) Start();
  const Entry entry{deadline.time(), next_id_++};
  const auto at = entries_.emplace(entry, std::move(callback)).first;
  if (at == entries_.begin()) changed_->NotifyAll();
  return entry;
}

// For the first entry, or for the first in a forked process: entries from before it are those of
// threads that it does not have, and stay as these left them: to destroy what they hold may be to
// ask for a lock of theirs, or for this one.
void Timer::Start() {
  if (!entries_.empty()) new auto(std::move(entries_));
  entries_.clear();
  running_id_ = 0;
  // The old ones count waits of the thread that is not there, and to notify may be to wait for it.
  new (&*changed_) CondVar();
  new (&*finished_) CondVar();
  thread_ = Thread("timer", [this] { Loop(); });
}

bool Timer::Remove(const Entry& entry) {
  if (entry.id == 0) return true;
  std::function<void()> dropped;  // destroyed after the lock
  MutexLock lock(mutex_);
  const auto found = entries_.find(entry);
  if (found != entries_.end()) {
    dropped = std::move(found->second);
    entries_.erase(found);
    return true;
  }
  while (running_id_ == entry.id && thread_.IsHere() && !thread_.IsCurrent()) {
    finished_->Wait(mutex_);
  }
  return false;
}

void Timer::Loop() {
  for (;;) {
    std::function<void()> callback;
    {
      MutexLock lock(mutex_);
      for (;;) {
        if (stop_) return;
        if (entries_.empty()) {
          changed_->Wait(mutex_);
        } else if (const auto time = entries_.begin()->first.time; clock_.Now() < time) {
          clock_.WaitUntil(mutex_, *changed_, time);
        } else {
          break;
        }
      }
      const auto first = entries_.begin();
      running_id_ = first->first.id;
      callback = std::move(first->second);
      entries_.erase(first);
    }
    callback();
    callback = nullptr;
    MutexLock lock(mutex_);
    running_id_ = 0;
    finished_->NotifyAll();
  }
}

}  // namespace thalweg
