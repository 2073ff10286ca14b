// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/tuner.h"

#include <algorithm>
#include <cmath>

namespace thalweg {
namespace {

// Calls beyond what the mean times ask for, as some take longer than others.
constexpr double kSlack = 1.25;
// Elements under way in all stages may take one in so many bytes of the limit.
constexpr int64_t kShareOfMemory = 4;
// Where less than one in so many bytes is free, nothing is made in advance.
constexpr int64_t kShareLeftFree = 8;

double Smoothed(double before, double now, bool is_first) {
  return is_first ? now : (before + now) / 2;
}

}  // namespace

TunedCallsPtr Tuner::Add() {
  MutexLock lock(mutex_);
  // Calls of stages that are gone, as members of an interleave go, count no more.
  std::erase_if(stages_, [](const TunedCallsPtr& stage) { return stage.use_count() == 1; });
  stages_.push_back(std::make_shared<TunedCalls>(threads_));
  on_.store(true, std::memory_order_relaxed);
  return stages_.back();
}

void Tuner::Used(Time away, const AllocatorStats& memory) {
  MutexLock lock(mutex_);
  away_ += away;
  if (++elements_ < kPeriod) return;
  std::erase_if(stages_, [](const TunedCallsPtr& stage) { return stage.use_count() == 1; });
  use_ = Smoothed(use_, static_cast<double>(away_.count()) / elements_, !has_measured_);
  for (const TunedCallsPtr& stage : stages_) Measure(stage.get());
  has_measured_ = true;
  away_ = Time(0);
  elements_ = 0;
  Choose(memory);
}

void Tuner::Measure(TunedCalls* stage) {
  const int64_t calls = stage->calls_.exchange(0, std::memory_order_relaxed);
  const int64_t nanos = stage->nanos_.exchange(0, std::memory_order_relaxed);
  const int64_t bytes = stage->bytes_.exchange(0, std::memory_order_relaxed);
  const bool is_first = stage->work_ == 0;
  stage->work_ = Smoothed(stage->work_, static_cast<double>(nanos) / elements_, is_first);
  if (calls > 0) {
    stage->size_ =
        Smoothed(stage->size_, static_cast<double>(bytes) / static_cast<double>(calls), is_first);
  }
}

void Tuner::Choose(const AllocatorStats& memory) {
  double work = 0;
  for (const TunedCallsPtr& stage : stages_) work += stage->work_;
  // Elements cannot come faster than all threads make them, and need not faster than they are used.
  const double pace = std::max(use_, work / threads_);
  const bool is_crowded = memory.bytes_in_use > memory.limit - memory.limit / kShareLeftFree;
  const double share = static_cast<double>(memory.limit) / kShareOfMemory /
                       std::max(1.0, static_cast<double>(stages_.size()));
  for (const TunedCallsPtr& stage : stages_) {
    if (stage->work_ <= 0) continue;  // it has made nothing yet
    double most = std::ceil(kSlack * stage->work_ / pace);
    if (stage->size_ > 0) most = std::min(most, std::floor(share / stage->size_));
    if (is_crowded) most = 1;
    stage->most_.store(static_cast<int>(std::clamp(most, 1.0, static_cast<double>(threads_))),
                       std::memory_order_relaxed);
  }
}

}  // namespace thalweg
