// SPDX-License-Identifier: Apache-2.0
// MemoryJson: what holds the memory of a step, for programs: devices with peak, kinds, holders and
// a curve; what grew over several steps.
//
//   ASSIGN_OR_RETURN(const std::string json, MemoryJson(trace, 0));
//
// Ownership: the text is the caller's.
// Threads: any.
// Errors: InvalidArgument for a trace whose nodes tell nothing of memory.
#pragma once

#include <string>

#include "thalweg/base/status.h"
#include "thalweg/trace/trace.h"

namespace thalweg {

// `step`: one of the trace's, or -1 for the one with the highest peak.
Result<std::string> MemoryJson(const Trace& trace, int64_t step);

}  // namespace thalweg
