// SPDX-License-Identifier: Apache-2.0
// RunMetadataMessage: what a Run told about itself, as a RunMetadata message.
#pragma once

#include <string>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"
#include "thalweg/session/run_metadata.h"

namespace thalweg {

// `message` must be an empty StepStats.
void StepStatsToMessage(const StepStats& stats, Message* message);
// Adds the devices of a StepStats message of another process: times count from the start of
// `stats`.
void AddStepStats(const Message& message, StepStats* stats);
// `message` must be an empty RunMetadata.
Status RunMetadataToMessage(const RunMetadata& metadata, Message* message);
// Its bytes.
Result<std::string> RunMetadataMessage(const RunMetadata& metadata);

}  // namespace thalweg
