// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/yielding_spinner.h"

#include <sched.h>

#include <algorithm>

#include "thalweg/base/spin.h"

namespace thalweg {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kSpin{50};
// Where a yield gives the processor to whoever needs it: longer than a step in which every thread
// had to be woken, so that in the next one none has.
constexpr std::chrono::microseconds kSpinYielding{400};
constexpr uint32_t kSpinsPerYield = 8;

// What this thread's yields have cost it lately.
struct Yields {
  SteadyClock::time_point not_before;
  std::chrono::milliseconds pause{10};
};
thread_local Yields t_yields;

void TimedYield(SteadyClock::time_point now) {
  constexpr std::chrono::microseconds kDear{100};
  constexpr std::chrono::milliseconds kMostPause{1000};
  Yields& yields = t_yields;
  if (now < yields.not_before) return;
  sched_yield();
  const SteadyClock::time_point after = SteadyClock::now();
  if (after - now < kDear) {
    yields.pause = std::chrono::milliseconds(10);
    return;
  }
  yields.not_before = after + yields.pause;
  yields.pause = std::min(yields.pause * 2, kMostPause);
}

}  // namespace

bool YieldingSpinner::Spin() {
  PauseProcessor();
  if (spins_++ % kSpinsPerYield != 0) return true;
  const SteadyClock::time_point now = SteadyClock::now();
  if (spins_ == 1) begin_ = now;
  if (now - begin_ >= (now < t_yields.not_before ? kSpin : kSpinYielding)) return false;
  TimedYield(now);
  return true;
}

}  // namespace thalweg
