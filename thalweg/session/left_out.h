// SPDX-License-Identifier: Apache-2.0
// AppendLeftOut: what a traced step has not kept of its beginning, as fields of its devices' stats
// (proto/trace_fields.h).
//
//   AppendLeftOut(trace.TakeLeftOut(), executor->program(), &stats);
//
// Ownership: none.
// Threads: any.
// Errors: none; nothing is written where all is there.
#pragma once

#include "thalweg/executor/program.h"
#include "thalweg/executor/step_trace.h"
#include "thalweg/session/run_metadata.h"

namespace thalweg {

// The stats have a trace for each device of the program.
void AppendLeftOut(const LeftOutRecords& left_out, const Program& program, StepStats* stats);
// The same of values that a device has received.
void AppendLeftOutTransfers(int64_t transfers, int64_t until_wall_nanos, DeviceTrace* device);

}  // namespace thalweg
