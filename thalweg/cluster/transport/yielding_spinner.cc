// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/yielding_spinner.h"

#include <sched.h>

#include <algorithm>

#include "thalweg/base/spin.h"

namespace thalweg {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Longer than a step in which every thread had to be woken, so that in the next one none has.
constexpr std::chrono::microseconds kSpin{400};
constexpr uint32_t kSpinsPerYield = 8;

thread_local YieldCosts t_costs;

}  // namespace

void YieldCosts::Note(Clock::TimePoint before, Clock::TimePoint after) {
  if (after - before < kExpensive) {
    pause_ = kFirstPause;
    return;
  }
  not_before_ = after + pause_;
  pause_ = std::min(pause_ * 2, kMostPause);
}

bool YieldingSpinner::Spin() {
  PauseProcessor();
  if (spins_++ % kSpinsPerYield != 0) return true;
  const SteadyClock::time_point now = SteadyClock::now();
  if (spins_ == 1) begin_ = now;
  if (t_costs.pausing(now) || now - begin_ >= kSpin) return false;
  sched_yield();
  t_costs.Note(now, SteadyClock::now());
  return true;
}

}  // namespace thalweg
