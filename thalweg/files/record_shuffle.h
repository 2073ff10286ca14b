// SPDX-License-Identifier: Apache-2.0
// ShuffleRecords: the records of several files in random order, also of more than fit in memory.
//
//   ASSIGN_OR_RETURN(RecordShuffleResult result,
//                    ShuffleRecords(fs, {"a.tfrecord", "b.tfrecord"}, "/data/shuffled",
//                                   {.seed = 7, .memory = 1 << 30}));
//
// A record gets a random key, of the seed and its place; the order is that of the keys, each of all
// orders with the same chance. So it depends on the seed and the records' order only, not on
// `memory`. What does not fit goes into temporary files beside the output, by the keys' first bits,
// which are read one by one: every byte is read and written twice. They are open until they are
// gone, so that nobody takes them for leftovers: fewer than 500, however much there is.
// Memory: `memory`; of the temporary files' buffers at most 64 KiB for each, in all a third of it;
// 4 MiB and one record.
// Ownership: its temporary files, which are gone at the end; the output stays.
// Threads: one.
// Errors: those of the records' files, before anything is written; InvalidArgument for bad options,
// and for more shards than NewRecordFiles makes; ResourceExhausted for a record that does not fit.
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

struct RecordShuffleOptions {
  static constexpr uint64_t kLeastMemory = uint64_t{1} << 20;
  uint64_t seed = 0;
  uint64_t memory = uint64_t{1} << 30;
  size_t shards = 0;                       // 0: one file, of the very name
  std::optional<Compression> compression;  // as the inputs are
  bool may_replace = false;
  ProgressFn progress;
};

struct RecordShuffleResult {
  uint64_t records = 0;
  uint64_t bytes = 0;    // of the records' files
  uint64_t spilled = 0;  // bytes that went through temporary files
  std::vector<std::string> files;
};

Result<RecordShuffleResult> ShuffleRecords(FileSystem& fs, const std::vector<std::string>& inputs,
                                           const std::string& output,
                                           const RecordShuffleOptions& options);

}  // namespace thalweg
