// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/counters/step_counter.h"

#include <algorithm>

namespace thalweg {
namespace {

double SecondsBetween(Clock::TimePoint from, Clock::TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

StepCounter::Open::Open(StepCounter& counter) : counter_(counter) {
  std::list<Clock::TimePoint> made(1);  // allocated without the lock
  at_ = made.begin();
  MutexLock lock(counter_.mutex_);
  *at_ = counter_.clock_.Now();  // under the lock: the list is in the order of time
  counter_.open_.splice(counter_.open_.end(), made);
}

StepCounter::Open::~Open() {
  std::list<Clock::TimePoint> ended;  // freed without the lock
  MutexLock lock(counter_.mutex_);
  const double seconds = SecondsBetween(*at_, counter_.clock_.Now());
  ended.splice(ended.end(), counter_.open_, at_);
  Values& sums = counter_.ended_;
  ++(ok_ ? sums.done : sums.failed);
  sums.seconds += seconds;
  ++sums.by_seconds[static_cast<size_t>(std::ranges::lower_bound(kBounds, seconds) -
                                        kBounds.begin())];
}

StepCounter::Values StepCounter::Read() const {
  MutexLock lock(mutex_);
  Values values = ended_;
  values.open = open_.size();
  if (!open_.empty()) values.oldest_seconds = SecondsBetween(open_.front(), clock_.Now());
  return values;
}

}  // namespace thalweg
