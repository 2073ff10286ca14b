// SPDX-License-Identifier: Apache-2.0
// RunMetadataMessage: what a Run told about itself, as the bytes of a RunMetadata message.
#pragma once

#include <string>

#include "thalweg/base/status.h"
#include "thalweg/session/run_metadata.h"

namespace thalweg::api {

Result<std::string> RunMetadataMessage(const RunMetadata& metadata);

}  // namespace thalweg::api
