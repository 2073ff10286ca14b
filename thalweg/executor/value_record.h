// SPDX-License-Identifier: Apache-2.0
// RecordValues: what a node has put out, for a trace that asks what holds memory.
// Ownership: values are the caller's; addresses of blocks are names, not to be followed.
// Threads: any, on distinct vectors.
// Errors: none.
#pragma once

#include <vector>

#include "thalweg/executor/step_trace.h"
#include "thalweg/kernel/context.h"

namespace thalweg {

// Appends a record for each output that has a buffer or leads to a resource; how many.
uint32_t RecordValues(Context& context, std::vector<ValueRecord>* values);

}  // namespace thalweg
