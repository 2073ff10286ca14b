// SPDX-License-Identifier: Apache-2.0
// RecordFiles: the records of several TFRecord files, one after the other; compressed or not, as
// each file begins.
//
//   RecordFiles files(fs, {"a.tfrecord", "b.tfrecord.gz"});
//   while (true) {
//     ASSIGN_OR_RETURN(std::optional<std::string_view> record, files.Next());
//     if (!record) break;
//   }
//
// Ownership: a record is valid until the next one; the file system outlives this.
// Threads: one.
// Errors: those of NextRecord. Other than there, bytes at the end that are no whole record are
// DataLoss too: whoever rewrites files loses none of them silently. ResourceExhausted for a record
// of more than `most_bytes`: a small compressed file may claim any number, and keep it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/files/progress.h"
#include "thalweg/io/block_file.h"

namespace thalweg {

// As the file begins: with a record, or as gzip or zlib begin.
Result<BlockFile> OpenRecordFile(FileSystem& fs, const std::string& path);

// Bytes of all files; 0 where one is compressed, so that its records have more.
Result<uint64_t> RecordFileBytes(FileSystem& fs, const std::vector<std::string>& paths);

// How all of them are compressed; empty ones may be anything. InvalidArgument where they differ.
Result<Compression> RecordFileCompression(FileSystem& fs, const std::vector<std::string>& paths);

class RecordFiles {
 public:
  // What a message of protobuf may have at most.
  static constexpr uint64_t kMostBytes = (uint64_t{1} << 31) - 1;

  RecordFiles(FileSystem& fs, std::vector<std::string> paths, uint64_t most_bytes = kMostBytes)
      : fs_(fs), paths_(std::move(paths)), most_bytes_(most_bytes) {}

  // Nothing behind the last one, however often it is asked.
  Result<std::optional<std::string_view>> Next();
  // The file of the last record, and where it begins there (in a compressed file: in what was
  // compressed).
  const std::string& path() const { return paths_[std::min(at_, paths_.size() - 1)]; }
  uint64_t offset() const { return offset_; }
  // Bytes of a file that a record takes.
  static uint64_t StoredBytes(std::string_view record);

 private:
  FileSystem& fs_;
  const std::vector<std::string> paths_;
  const uint64_t most_bytes_;
  size_t at_ = 0;  // their number: the last one is through
  std::optional<BlockFile> file_;
  uint64_t offset_ = 0;
};

}  // namespace thalweg
