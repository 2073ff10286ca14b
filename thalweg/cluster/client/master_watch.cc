// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/client/master_watch.h"

#include <algorithm>
#include <utility>

namespace thalweg {

MasterWatch::~MasterWatch() {
  Timer::Entry entry;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    entry = entry_;
  }
  if (entry.id != 0) timer_.Remove(entry);
  stopping_.Cancel(Cancelled("the session is closed"));
  MutexLock lock(mutex_);
  while (asked_) changed_.Wait(mutex_);
}

void MasterWatch::Greet() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(greeted_, true) || stopped_ || asked_) return;
    asked_ = true;
  }
  ask_(limits_.lost_after, stopping_, [this](const Status& status) { Answered(status); });
}

void MasterWatch::Arm() {
  armed_ = !stopped_;
  if (armed_) entry_ = timer_.Add(Deadline::After(clock_, limits_.ask_every), [this] { Tick(); });
}

MasterWatch::Call::Call(MasterWatch& watch, CancellationManager* outer)
    : watch_(watch), cancellation_(outer), begun_(watch.clock_.Now()) {
  MutexLock lock(watch_.mutex_);
  at_ = watch_.calls_.insert(watch_.calls_.end(), this);
  if (watch_.armed_) return;
  watch_.ticked_ = begun_;
  watch_.Arm();
}

MasterWatch::Call::~Call() {
  MutexLock lock(watch_.mutex_);
  watch_.calls_.erase(at_);
}

void MasterWatch::Tick() {
  const Clock::TimePoint now = clock_.Now();
  {
    MutexLock lock(mutex_);
    // This process was away itself: that time does not count.
    if (const auto away = now - ticked_; away > limits_.ask_every + limits_.lost_after / 2) {
      for (Call* call : calls_) call->begun_ = std::min(now, std::max(heard_, call->begun_) + away);
    }
    ticked_ = now;
    for (Call* call : calls_) {
      const auto silent = now - std::max(heard_, call->begun_);
      if (silent < limits_.lost_after) continue;
      call->cancellation_.Cancel(Unavailable("the master is lost: it has not answered for ",
                                             std::chrono::duration<double>(silent).count(),
                                             " s; it is stopped, cut off or gone"));
    }
    if (calls_.empty() || stopped_) {
      armed_ = false;
      return;
    }
    Arm();
    if (asked_) return;
    asked_ = true;
  }
  ask_(limits_.lost_after, stopping_, [this](const Status& status) { Answered(status); });
}

void MasterWatch::Answered(const Status& status) {
  const bool silent = status.code() == Code::kUnavailable ||
                      status.code() == Code::kDeadlineExceeded || status.code() == Code::kCancelled;
  MutexLock lock(mutex_);
  if (!silent) heard_ = clock_.Now();
  asked_ = false;
  changed_.NotifyAll();
}

}  // namespace thalweg
