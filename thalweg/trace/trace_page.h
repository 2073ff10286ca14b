// SPDX-License-Identifier: Apache-2.0
// TracePage: a trace, its stalls and critical paths as one HTML page that needs nothing else.
//
//   RETURN_IF_ERROR(WriteFileAtomically(fs, "step.html", TracePage(trace)));
//
// The page is page/page.html with its styles and scripts, joined when the library is built. What it
// shows is put in: summaries and names as JSON, spans as columns of numbers (page_columns.h), some
// ten characters a span.
// Ownership: none.
// Threads: any.
// Errors: none.
#pragma once

#include <string>

#include "thalweg/trace/trace.h"

namespace thalweg {

// The slowest steps are analyzed, at most 16 of them; all are drawn. With a row of memory of
// those steps where the trace was read with it.
std::string TracePage(const Trace& trace);

}  // namespace thalweg
