// SPDX-License-Identifier: Apache-2.0
// PageMemory: what devices held over the steps of a trace, as elements of an HTML page.
//
//   std::string page;
//   AppendPageMemory(trace, {0}, &page);
//
// The page gets what `thalweg trace memory` is told of (memory_use.h): a curve of each kind, which
// page/memory.js draws, and who held the most. Nothing where the trace was read without memory.
// Ownership: none.
// Threads: any.
// Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/trace/trace.h"

namespace thalweg {

// Of these steps, by time.
void AppendPageMemory(const Trace& trace, const std::vector<uint32_t>& steps, std::string* page);

}  // namespace thalweg
