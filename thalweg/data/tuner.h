// SPDX-License-Identifier: Apache-2.0
// Tuner: chooses how many calls go on at once in the stages of a pass whose graph leaves that open,
// from measured times: as many as the user of the elements can keep busy, and no more than there
// are threads and memory for. README.md says how.
//
//   Tuner tuner(8);
//   const TunedCallsPtr calls = tuner.Add();
//   calls->Took(std::chrono::milliseconds(3), 1 << 20);            // a call, and what it gave
//   tuner.Used(std::chrono::milliseconds(1), allocator.Stats());   // an element of the whole pass
//   const int most = calls->most();
//
// Ownership: what Add gives is shared with the stage and with its calls.
// Threads: all calls from any.
// Errors: none.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

class TunedCalls {
 public:
  using Time = std::chrono::nanoseconds;

  explicit TunedCalls(int most) : most_(most) {}
  // How many may go on at once.
  int most() const { return most_.load(std::memory_order_relaxed); }
  // One took so long and gave so many bytes.
  void Took(Time time, int64_t bytes) {
    nanos_.fetch_add(time.count(), std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    calls_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  friend class Tuner;
  std::atomic<int> most_;
  // What calls took that the tuner has not seen yet.
  std::atomic<int64_t> nanos_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> calls_{0};
  // The tuner's own: what the calls for one element of the pass take; what a call gives.
  double work_ = 0;
  double size_ = 0;
};
using TunedCallsPtr = std::shared_ptr<TunedCalls>;

class Tuner {
 public:
  using Time = TunedCalls::Time;
  // It chooses anew after so many elements.
  static constexpr int kPeriod = 16;

  explicit Tuner(int threads) : threads_(threads) {}
  // For a stage; at first as many as there are threads.
  TunedCallsPtr Add() EXCLUDES(mutex_);
  // Whether any stage is tuned.
  bool is_on() const { return on_.load(std::memory_order_relaxed); }
  // The user of the pass came back for the next element after so long.
  void Used(Time away, const AllocatorStats& memory) EXCLUDES(mutex_);

 private:
  void Measure(TunedCalls* stage) REQUIRES(mutex_);
  void Choose(const AllocatorStats& memory) REQUIRES(mutex_);

  const int threads_;
  std::atomic<bool> on_{false};
  Mutex mutex_;
  std::vector<TunedCallsPtr> stages_ GUARDED_BY(mutex_);
  Time away_ GUARDED_BY(mutex_){0};  // in all, since it has chosen
  int elements_ GUARDED_BY(mutex_) = 0;
  double use_ GUARDED_BY(mutex_) = 0;  // of one element, by the user
  bool has_measured_ GUARDED_BY(mutex_) = false;
};

}  // namespace thalweg
