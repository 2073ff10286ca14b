// SPDX-License-Identifier: Apache-2.0
// EnqueueRecords: a step that does nothing but enqueue what a reader reads gets a node that goes on
// with the reader's next records in a row of steps (WaitingKernel::TryRepeated).
//
//   ASSIGN_OR_RETURN(StepGraph made, EnqueueRecords(step));  // QueueEnqueueV2 -> _EnqueueRecords
//
// With anything else in the step it stays as it is: that would have to run once for each record.
// Ownership: as pass.h.
// Threads: as pass.h.
// Errors: as pass.h.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> EnqueueRecords(const StepGraph& step);

}  // namespace thalweg
