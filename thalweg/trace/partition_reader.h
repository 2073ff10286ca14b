// SPDX-License-Identifier: Apache-2.0
// ReadPartitions: what the partition graphs of a RunMetadata message tell of nodes, into
// Trace::facts.
//
//   ReadPartitions(metadata, &trace);  // after the message's step_stats
//
// Ownership: nothing of the bytes is kept.
// Threads: one for a trace.
// Errors: none; a graph whose device nothing tells is left out.
#pragma once

#include <string_view>

#include "thalweg/trace/trace.h"

namespace thalweg {

void ReadPartitions(std::string_view metadata, Trace* trace);

// What else readers of nodes share.
SpanKind SpanKindOf(std::string_view op);
// Of an input, the name of its node: without slot and the sign of control.
std::string_view NodeOfEdge(std::string_view input);

}  // namespace thalweg
