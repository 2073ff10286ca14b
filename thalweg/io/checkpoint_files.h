// SPDX-License-Identifier: Apache-2.0
// The files of a checkpoint in their directory: taking them away, and sweeping up what processes
// left there that were ended while they wrote or removed.
//
//   RETURN_IF_ERROR(RemoveCheckpoint(fs, "/models/m-7", CheckpointFormat::kV2));
//   SweepLeftovers(fs, "/models");
//
// The index goes first, and by a rename that also says what is being removed: from then on the
// checkpoint does not look whole, and who finds that name ends the removal.
// Ownership: the guard of a directory of parts is the caller's; it stands while it is open.
// Threads: any; several processes may do so in one directory. What a live one writes stays.
// Errors: those of the files; a sweep has none, what cannot be removed stays.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"

namespace thalweg {

enum class CheckpointFormat { kV1, kV2 };

// Also its MetaGraph, PREFIX.meta. Fine where there is none.
Status RemoveCheckpoint(FileSystem& fs, const std::string& prefix, CheckpointFormat format);

void SweepLeftovers(FileSystem& fs, const std::string& directory);

// A sharded save writes its parts into a directory of their own, PREFIX_temp_ and 32 hexadecimal
// digits, until they are merged. A file there that is open shows that who writes a part is there;
// where all have gone, a sweep takes the directory. Null where `part` lies in no such directory.
// Sweeps beside it.
Result<std::unique_ptr<WritableFile>> GuardParts(FileSystem& fs, const std::string& part);
// Takes such a directory away once its parts are merged; nothing where there are others.
void RemovePartsDirectory(FileSystem& fs, const std::string& directory);

}  // namespace thalweg
