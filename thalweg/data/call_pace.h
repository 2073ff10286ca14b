// SPDX-License-Identifier: Apache-2.0
// CallPace: what the calls of a stage's function take, and so how many of them are handed to a
// thread at once: to hand one over costs as much as some microseconds of work.
//
//   CallPace pace;
//   pace.Took(std::chrono::microseconds(5), 800);
//   const size_t calls = pace.CallsOfTask();  // 10
//
// Ownership: the stage's; its calls share it.
// Threads: any.
// Errors: none.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace thalweg {

class CallPace {
 public:
  using Time = std::chrono::nanoseconds;
  // What makes a task worth a thread.
  static constexpr Time kTask = std::chrono::microseconds(50);
  // Results of a task wait to be taken together.
  static constexpr int64_t kTaskBytes = 64 * 1024;
  static constexpr int64_t kMostCalls = 32;

  // A call took so long and gave so many bytes. Of calls that end at the same time one may be
  // forgotten.
  void Took(Time time, int64_t bytes) {
    Follow(nanos_, std::max<int64_t>(time.count(), 1));
    Follow(bytes_, bytes);
  }
  // One while nothing is known.
  size_t CallsOfTask() const {
    const int64_t nanos = nanos_.load(std::memory_order_relaxed);
    if (nanos == 0) return 1;
    const int64_t bytes = std::max<int64_t>(bytes_.load(std::memory_order_relaxed), 1);
    return static_cast<size_t>(
        std::clamp<int64_t>(std::min(kTask.count() / nanos, kTaskBytes / bytes), 1, kMostCalls));
  }

  // Tasks that a thread has, or will have.
  int open_tasks() const { return open_tasks_.load(std::memory_order_relaxed); }
  void TaskBegins() { open_tasks_.fetch_add(1, std::memory_order_relaxed); }
  void TaskEnds() { open_tasks_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  // The first value counts whole, later ones a quarter.
  static void Follow(std::atomic<int64_t>& mean, int64_t value) {
    const int64_t old = mean.load(std::memory_order_relaxed);
    mean.store(old == 0 ? value : (3 * old + value) / 4, std::memory_order_relaxed);
  }

  std::atomic<int64_t> nanos_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<int> open_tasks_{0};
};
using CallPacePtr = std::shared_ptr<CallPace>;

}  // namespace thalweg
