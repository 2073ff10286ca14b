// SPDX-License-Identifier: Apache-2.0
// PageGraph: the partition graphs of a trace as elements of an HTML page.
//
//   std::string page;
//   AppendPageGraph(trace, &page);
//
// Nodes are in order of name and device; what a Recv gets is an edge from its Send. page/graph.js
// says what each column holds. A trace without partition graphs gets none.
// Ownership: none.
// Threads: any.
// Errors: none; inputs that are no node of the graph are left out.
#pragma once

#include <string>

#include "thalweg/trace/trace.h"

namespace thalweg {

void AppendPageGraph(const Trace& trace, std::string* page);

}  // namespace thalweg
