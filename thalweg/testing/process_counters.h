// SPDX-License-Identifier: Apache-2.0
// Counts what the whole test program does that links process_counters.cc: calls of operator new,
// the bytes that it holds, calls of clock_gettime, on all threads. For tests of what a step must
// not do, and of what a message may take.
//
//   const int64_t before = AllocationsSoFar();
//   ForgetPeak();
//   ...
//   const int64_t peak = PeakBytes() - BytesHeld();
//
// Ownership: the counters are the process's.
// Threads: any; ForgetPeak counts for all.
// Errors: none.
#pragma once

#include <cstdint>

namespace thalweg {

int64_t AllocationsSoFar();
int64_t ClockReadingsSoFar();
int64_t BytesHeld();
// The most that was held since ForgetPeak().
int64_t PeakBytes();
void ForgetPeak();

}  // namespace thalweg
