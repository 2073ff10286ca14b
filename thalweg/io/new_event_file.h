// SPDX-License-Identifier: Apache-2.0
// NewEventFile: an event file with its first record, for whoever appends records of Events.
//
//   ASSIGN_OR_RETURN(auto file, NewEventFile(fs, "/logs", ".v2"));
//   RETURN_IF_ERROR(file->AppendWhole(FrameRecord(bytes)));
//
// It is DIRECTORY/events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER and the suffix; the directory is
// made.
// Ownership: the caller's.
// Threads: any.
// Errors: the file system's.
#pragma once

#include <memory>
#include <string>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"

namespace thalweg {

Result<std::unique_ptr<WritableFile>> NewEventFile(FileSystem& fs, const std::string& directory,
                                                   const std::string& suffix);

}  // namespace thalweg
