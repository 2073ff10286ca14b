// SPDX-License-Identifier: Apache-2.0
// ReadTrace: files with recordings (recording_file.h) as one trace on one clock.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Trace> trace, ReadTrace(fs, {"step-1.pb", "step-2.pb"}));
//   Use(trace->spans);
//
// A file is a step; files whose times overlap are parts of one, as those of tasks that trace
// themselves.
// Ownership: the trace is the caller's; no file stays open.
// Threads: any.
// Errors: the file system's; InvalidArgument for what is no RunMetadata message or holds no times,
// DataLoss for compressed ones that are damaged, with the path.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/trace/trace.h"

namespace thalweg {

// `with_memory`: what nodes tell of memory, too; of millions that takes room.
Result<std::unique_ptr<Trace>> ReadTrace(FileSystem& fs, const std::vector<std::string>& paths,
                                         bool with_memory = false);

// What makes a trace of spans that were read: steps in order, times since the first, transfers,
// one clock, lanes.
Status FinishTrace(Trace* trace);

}  // namespace thalweg
