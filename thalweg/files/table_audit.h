// SPDX-License-Identifier: Apache-2.0
// AuditTable: every block of a table file (io/table.h): footer, checksums, keys that rise.
//
//   Progress progress(nullptr, 0);
//   RETURN_IF_ERROR(AuditTable(fs, path, audit, progress,
//                              [&](std::string_view key, std::string_view value, uint64_t block) {
//                                ...
//                              }));
//
// Entries of damaged blocks are left out, after damage the next block is read.
// Ownership: the audit, `progress` and `visit` are the caller's; what `visit` is given is good
// during its call.
// Threads: one for each audit.
// Errors: the file system's for a file that cannot be opened; Unimplemented for a compressed block;
// that of `progress`, which is told each block. What is wrong in the file is the audit's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/files/audit.h"
#include "thalweg/files/progress.h"

namespace thalweg {

// Key, value, and where their block begins.
using TableEntryFn = std::function<void(std::string_view, std::string_view, uint64_t)>;

Status AuditTable(FileSystem& fs, const std::string& path, Audit& audit, Progress& progress,
                  const TableEntryFn& visit);

}  // namespace thalweg
