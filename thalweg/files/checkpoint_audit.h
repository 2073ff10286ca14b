// SPDX-License-Identifier: Apache-2.0
// AuditCheckpoint: every byte and every checksum of a checkpoint of either format, index and data:
// blocks, what they say, where tensors lie, their values.
//
//   ASSIGN_OR_RETURN(Audit audit, AuditCheckpoint(fs, "/models/model-7"));
//   if (audit.num_damages > 0) Use(AuditJson(audit));
//
// After damage it goes on with what can still be read. Memory: the index, and the largest tensor of
// strings or variants (format V1: the largest tensor).
// Ownership: the audit is the caller's; the files are closed at the end.
// Threads: any.
// Errors: NotFound where there is no checkpoint; Unimplemented for compressed tables, which are not
// read here; that of `progress`.
#pragma once

#include <string>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/files/audit.h"
#include "thalweg/files/progress.h"

namespace thalweg {

Result<Audit> AuditCheckpoint(FileSystem& fs, const std::string& prefix,
                              const ProgressFn& progress = {});

}  // namespace thalweg
