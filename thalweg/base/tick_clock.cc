// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/tick_clock.h"

#include <cpuid.h>

#include <chrono>
#include <typeinfo>

#include "thalweg/base/system_file.h"

namespace thalweg {
namespace {

bool CounterRunsEvenly() {
  constexpr unsigned kPowerFacts = 0x80000007u, kNeverChanges = 1u << 8;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(kPowerFacts, &a, &b, &c, &d) == 0 || (d & kNeverChanges) == 0) return false;
  // The system compares the counters of all processors, and takes another clock where they differ.
  return SystemText("/sys/devices/system/clocksource/clocksource0/current_clocksource") == "tsc\n";
}

bool HasCounter() {
  static const bool has = CounterRunsEvenly();
  return has;
}

}  // namespace

TickClock::TickClock(const Clock& clock)
    : clock_(clock),
      counts_(typeid(clock) == typeid(SystemClock) && HasCounter()),
      begin_(Compare()) {}

int64_t TickClock::ClockNanos() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.Now().time_since_epoch())
      .count();
}

// Of three tries the one that was least disturbed.
TickClock::Moment TickClock::Compare() const {
  if (!counts_) {
    const int64_t now = ClockNanos();
    return {now, now};
  }
  Moment best;
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const int64_t before = Counter();
    const int64_t nanos = ClockNanos();
    const int64_t took = Counter() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, nanos};
  }
  return best;
}

void TickClock::End() {
  if (ended_) return;
  ended_ = true;
  end_ = Compare();
  const int64_t ticks = end_.ticks - begin_.ticks;
  if (ticks > 0) {
    nanos_a_tick_ = static_cast<double>(end_.nanos - begin_.nanos) / static_cast<double>(ticks);
  }
}

}  // namespace thalweg
