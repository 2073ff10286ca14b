// SPDX-License-Identifier: Apache-2.0
// AlignClocks: the times of all tasks on the clock of the first, as far as messages tell.
//
//   if (AlignClocks(&trace)) PairTransfers(&trace);
//   Use(trace.tasks[1].offset_nanos, trace.tasks[1].error_nanos);
//
// A value arrives after it was sent. Messages from A to B bound how far B's clock may be behind,
// messages back how far it may be ahead. Clocks that these bounds allow stay as they are: one
// message that was delayed must not look like a clock that is wrong. Others move to the middle of
// the bounds.
// One offset a task: drift within a trace is part of the error.
// Ownership: none.
// Threads: one for a trace.
// Errors: none; bounds that contradict each other are noted.
#pragma once

#include "thalweg/trace/trace.h"

namespace thalweg {

// Whether times changed: then spans and transfers want to be sorted and paired again.
bool AlignClocks(Trace* trace);

}  // namespace thalweg
