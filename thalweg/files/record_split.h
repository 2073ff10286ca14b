// SPDX-License-Identifier: Apache-2.0
// SplitRecords: the records of several files, in their order, in new files of one size: so many
// files, or so many records or bytes a file.
//
//   ASSIGN_OR_RETURN(RecordSplitResult result,
//                    SplitRecords(fs, {"all.tfrecord"}, "/data/train", {.shards = 8}));
//
// Ownership: what it has written it takes away after an error.
// Threads: one. Memory: one record.
// Errors: InvalidArgument unless exactly one of the three is asked for, and for more files than
// NewRecordFiles makes; those of the records' files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/files/progress.h"
#include "thalweg/io/inflate.h"

namespace thalweg {

struct RecordSplitOptions {
  uint64_t shards = 0;   // of as equal numbers of records as can be
  uint64_t records = 0;  // in each file but the last
  uint64_t bytes = 0;    // of each file at most, before compression, unless one record has more
  std::optional<Compression> compression;  // as the inputs are
  bool may_replace = false;
  ProgressFn progress;
};

struct RecordSplitResult {
  uint64_t records = 0;
  uint64_t bytes = 0;
  std::vector<std::string> files;
};

Result<RecordSplitResult> SplitRecords(FileSystem& fs, const std::vector<std::string>& inputs,
                                       const std::string& output,
                                       const RecordSplitOptions& options);

}  // namespace thalweg
