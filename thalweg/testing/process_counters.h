// SPDX-License-Identifier: Apache-2.0
// Counts what the whole test program does that links process_counters.cc: calls of operator new and
// of clock_gettime, on all threads. For tests of what a step must not do.
//
//   const int64_t before = AllocationsSoFar();
#pragma once

#include <cstdint>

namespace thalweg {

int64_t AllocationsSoFar();
int64_t ClockReadingsSoFar();

}  // namespace thalweg
