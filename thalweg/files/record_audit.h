// SPDX-License-Identifier: Apache-2.0
// AuditRecords: the two checksums of every record of TFRecord and event files, compressed or not.
//
//   ASSIGN_OR_RETURN(Audit audit, AuditRecords(fs, {"train.tfrecord"}));
//
// After wrong bytes it goes on with the next record; after a wrong length, which hides where that
// is, with the next file. Memory does not depend on the records' sizes.
// Ownership: the audit is the caller's; the files are closed at the end.
// Threads: any.
// Errors: the file system's.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/files/audit.h"
#include "thalweg/files/progress.h"

namespace thalweg {

Result<Audit> AuditRecords(FileSystem& fs, const std::vector<std::string>& paths,
                           const ProgressFn& progress = {});

}  // namespace thalweg
