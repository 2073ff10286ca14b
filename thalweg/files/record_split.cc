// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/record_split.h"

#include <algorithm>

#include "thalweg/files/new_record_files.h"
#include "thalweg/files/record_files.h"

namespace thalweg {
namespace {

Result<uint64_t> CountRecords(FileSystem& fs, const std::vector<std::string>& inputs,
                              Progress& progress) {
  RecordFiles records(fs, inputs);
  for (uint64_t n = 0;; ++n) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> record, records.Next());
    if (!record) return n;
    RETURN_IF_ERROR(progress.Add(RecordFiles::StoredBytes(*record)));
  }
}

}  // namespace

Result<RecordSplitResult> SplitRecords(FileSystem& fs, const std::vector<std::string>& inputs,
                                       const std::string& output,
                                       const RecordSplitOptions& options) {
  if ((options.shards > 0) + (options.records > 0) + (options.bytes > 0) != 1) {
    return InvalidArgument("splitting needs a number of shards, or of records or bytes of each");
  }
  ASSIGN_OR_RETURN(const Compression compression,
                   options.compression ? *options.compression : RecordFileCompression(fs, inputs));
  NewRecordFiles files(fs, output, options.may_replace, compression);
  ASSIGN_OR_RETURN(const uint64_t size, RecordFileBytes(fs, inputs));
  Progress progress(options.progress, options.shards > 0 ? 2 * size : size);
  uint64_t total = 0;
  if (options.shards > 0) {
    RETURN_IF_ERROR(files.CheckFree(options.shards, true));
    ASSIGN_OR_RETURN(total, CountRecords(fs, inputs, progress));
  }
  RecordSplitResult result;
  uint64_t begun = 0, in_file = 0, bytes_in_file = 0;
  const auto begin = [&]() -> Status {
    ++begun;
    in_file = bytes_in_file = 0;
    return files.Begin();
  };
  RecordFiles records(fs, inputs);
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> record, records.Next());
    if (!record) break;
    const uint64_t stored = RecordFiles::StoredBytes(*record);
    const auto is_full = [&] {
      if (begun == 0) return true;
      if (options.shards > 0) {
        return begun < options.shards && result.records >= begun * total / options.shards;
      }
      if (options.records > 0) return in_file >= options.records;
      return in_file > 0 && bytes_in_file + stored > options.bytes;
    };
    while (is_full()) RETURN_IF_ERROR(begin());
    RETURN_IF_ERROR(files.Add(*record));
    ++result.records;
    ++in_file;
    result.bytes += stored;
    bytes_in_file += stored;
    RETURN_IF_ERROR(progress.Add(stored));
  }
  while (begun < std::max<uint64_t>(options.shards, 1)) RETURN_IF_ERROR(begin());
  ASSIGN_OR_RETURN(result.files, files.Finish(true));
  return result;
}

}  // namespace thalweg
