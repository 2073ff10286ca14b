// SPDX-License-Identifier: Apache-2.0
// ChromeTrace: a trace as events of chrome://tracing, which Perfetto's viewer reads as well.
//
//   RETURN_IF_ERROR(WriteFileAtomically(fs, "step.json", ChromeTrace(trace)));
//
// Devices are processes, lanes are threads, transfers are flows. Times are microseconds.
// Ownership: none.
// Threads: any.
// Errors: none.
#pragma once

#include <string>

#include "thalweg/trace/trace.h"

namespace thalweg {

std::string ChromeTrace(const Trace& trace);

}  // namespace thalweg
