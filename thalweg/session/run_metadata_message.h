// SPDX-License-Identifier: Apache-2.0
// RunMetadataMessage: what a Run told about itself, as a RunMetadata message, and back.
//
//   AppendNode({.node = "y", .op = "Add", .end_nanos = 9}, stats.start_wall_micros,
//              trace.nodes.Tail());
//   ASSIGN_OR_RETURN(std::string bytes, RunMetadataMessage(std::move(metadata)));
//   RETURN_IF_ERROR(ReadStepStats(&metadata));       // as devices and nodes
//
// Statistics are bytes from the first and pass from task to task as such, never as a tree; nobody
// reads them but whoever looks at nodes.
// Ownership: bytes are the caller's; what is added to goes on owning them.
// Threads: any, on distinct messages.
// Errors: InvalidArgument for bytes of another process that are no such message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"
#include "thalweg/session/run_metadata.h"

namespace thalweg {

// One execution of a node, to be written.
struct NodeTrace {
  std::string_view node;
  std::string_view op;      // the label is "NODE = OP"
  std::string_view label;   // instead of that; may be empty
  int thread = 0;           // 0 is the thread that called Run
  int64_t start_nanos = 0;  // since the step's start
  int64_t end_nanos = 0;
  std::string_view fields;  // more of the message, as they are written: of memory, of switches
};
// Adds it to the tail of DeviceTrace::nodes; the step started at `start_wall_micros`.
void AppendNode(const NodeTrace& node, int64_t start_wall_micros, std::string* nodes);

// A StepStats message, with what came from other tasks. What it is made of goes as it is written.
std::string EncodeStepStats(StepStats stats);
// Adds such a message of another task, as it is.
Status AddEncodedStepStats(std::string_view bytes, StepStats* stats);
// `message` must be an empty StepStats.
Status StepStatsToMessage(StepStats stats, Message* message);
// Makes StepStats::devices of what was written: times count from the step's start, or from 1970
// where a server has told of it.
Status ReadStepStats(RunMetadata* metadata);
// `message` must be an empty RunMetadata.
Status RunMetadataToMessage(RunMetadata metadata, Message* message);
// Its bytes.
Result<std::string> RunMetadataMessage(RunMetadata metadata);

}  // namespace thalweg
