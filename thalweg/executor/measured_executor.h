// SPDX-License-Identifier: Apache-2.0
// MeasuredExecutor: an executor that looks at what its nodes cost. Its second to fourth step are
// timed; where that contradicts the estimates in the program, the plan is compiled again with the
// measured costs, by a thread of the step's queue, and later steps run the new one. Results are the
// same bits either way. Once it has made up its mind it reads no clock.
//
// Ownership: owns its program and plans; a step that runs keeps the plan that it began with.
// Threads: as Executor. The destructor waits for a compilation that runs, not for one that has yet
// to start.
// Errors: as MakeExecutor and Executor; a compilation that fails later leaves the plan as it is.
#pragma once

#include <memory>

#include "thalweg/base/clock.h"
#include "thalweg/executor/executor.h"

namespace thalweg {

// `clock` outlives the executor and what its steps have scheduled.
Result<std::unique_ptr<Executor>> MakeMeasuredExecutor(Program program,
                                                       const ExecutorOptions& options,
                                                       const Clock* clock);

}  // namespace thalweg
