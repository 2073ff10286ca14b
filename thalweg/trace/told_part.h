// SPDX-License-Identifier: Apache-2.0
// CutToTold: of steps whose recording has left out the beginning on some device, takes away what
// others tell of that time, so that nobody seems to have waited, or to have worked alone, then.
//
//   if (CutToTold(&trace)) { ... spans have changed: put in order again ... }
//   if (const TraceLeftOut* left = LeftOutOf(trace, 0)) Use(left->until);
//
// What still ran at the moment from which all is told begins there.
// Ownership: the trace is the caller's.
// Threads: one.
// Errors: none; a step of which nothing would be left stays as it is, and a note says so.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/trace/trace.h"

namespace thalweg {

// Whether spans have changed. Adds notes.
bool CutToTold(Trace* trace);
// Of those of a step that have left out executions, the one that tells the shortest; null: none.
const TraceLeftOut* LeftOutOf(const Trace& trace, uint32_t step);
// What stands at that moment in other viewers: "12,345 executions before are not there".
std::string LeftOutWords(const TraceLeftOut& left);

}  // namespace thalweg
