// SPDX-License-Identifier: Apache-2.0
// RunMetadataMessage: what a Run told about itself, as a RunMetadata message, and back.
//
//   ASSIGN_OR_RETURN(std::string bytes, RunMetadataMessage(metadata));   // written, never a tree
//   RETURN_IF_ERROR(ReadStepStats(&metadata));       // what came from a server, as devices
//
// Statistics pass from task to task as bytes; nobody reads them but whoever looks at nodes.
// Errors: InvalidArgument for bytes of another process that are no such message.
#pragma once

#include <string>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"
#include "thalweg/session/run_metadata.h"

namespace thalweg {

// A StepStats message, with what came from other tasks.
std::string EncodeStepStats(const StepStats& stats);
// Makes bytes of the devices, before those that came as bytes.
void EncodeDevices(StepStats* stats);
// Adds such a message of another task, as it is.
Status AddEncodedStepStats(std::string_view bytes, StepStats* stats);
// `message` must be an empty StepStats.
Status StepStatsToMessage(const StepStats& stats, Message* message);
// Adds the devices of a StepStats message of another process: times count from the start of
// `stats`.
void AddStepStats(const Message& message, StepStats* stats);
// Makes devices of all that came as bytes.
Status ReadStepStats(RunMetadata* metadata);
// `message` must be an empty RunMetadata.
Status RunMetadataToMessage(const RunMetadata& metadata, Message* message);
// Its bytes.
Result<std::string> RunMetadataMessage(const RunMetadata& metadata);

}  // namespace thalweg
