// SPDX-License-Identifier: Apache-2.0
// AssignLanes: a row for each span, in which nothing overlaps.
//
//   AssignLanes(&trace);
//   Use(trace.devices[0].lanes);
//   for (const uint32_t span : SpansByLane(trace)) Use(trace.spans[span].lane);
//
// Nodes of a thread come together where a device tells of several; nodes that overlap are stacked.
// What waits for values of others has lanes of its own, after those.
// Ownership: none.
// Threads: one for a trace.
// Errors: none.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/trace/trace.h"

namespace thalweg {

// Of sorted spans.
void AssignLanes(Trace* trace);
// All spans in order of device, lane and start.
std::vector<uint32_t> SpansByLane(const Trace& trace);

}  // namespace thalweg
