// SPDX-License-Identifier: Apache-2.0
// PerfettoTrace: a trace in the binary form of Perfetto, for ui.perfetto.dev and its trace
// processor.
//
//   RETURN_IF_ERROR(WriteFileAtomically(fs, "step.pftrace", PerfettoTrace(trace)));
//
// Devices are processes, lanes are threads; counters tell how busy the lanes are and, where the
// trace was read with memory, what each kind holds. A flow goes from the moment at which a node was
// scheduled to its start, and from a Send to the arrival of its value. Names are interned, times
// are differences: some 40 bytes a span, where Chrome's form takes four times as many. Switches are
// not told.
// Ownership: none.
// Threads: any.
// Errors: none.
#pragma once

#include <string>

#include "thalweg/trace/trace.h"

namespace thalweg {

std::string PerfettoTrace(const Trace& trace);

}  // namespace thalweg
