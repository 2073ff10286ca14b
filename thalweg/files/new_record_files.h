// SPDX-License-Identifier: Apache-2.0
// NewRecordFiles: TFRecord files that appear when all of them are whole, or not at all.
//
//   NewRecordFiles files(fs, "/data/train", false, Compression::kGzip);
//   RETURN_IF_ERROR(files.Begin());
//   RETURN_IF_ERROR(files.Add("a record"));
//   ASSIGN_OR_RETURN(auto names, files.Finish(false));  // {"/data/train"}
//
// They are written beside their places under temporary names, synced and renamed by Finish. One
// that goes before removes what it wrote.
// A temporary file is safe from those who sweep leftovers only while it is open, and there may be
// more shards than a process may have files open: one that is full gets the name of a guard, which
// stays open, and a number before it is closed. Where the process is killed, the next that sweeps
// takes the guard and all that has its name; Begin sweeps before the first file.
// Ownership: owns the temporary files until Finish; the file system outlives it.
// Threads: one.
// Errors: AlreadyExists for a file that is there, unless it may be replaced; InvalidArgument for
// more than kMostShards; the file system's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/io/deflate.h"

namespace thalweg {

class NewRecordFiles {
 public:
  static constexpr uint64_t kMostShards = 99999;  // as many as five digits number

  NewRecordFiles(FileSystem& fs, std::string path, bool may_replace, Compression compression)
      : fs_(fs), path_(std::move(path)), may_replace_(may_replace), compression_(compression) {}
  NewRecordFiles(const NewRecordFiles&) = delete;
  NewRecordFiles& operator=(const NewRecordFiles&) = delete;
  ~NewRecordFiles();

  // The names of so many files: PATH as it is for one that is no shard.
  static std::vector<std::string> Names(const std::string& path, size_t shards, bool are_shards);
  // Whether so many files can be made: asked before long work begins.
  Status CheckFree(size_t shards, bool are_shards) const;

  // The next file.
  Status Begin();
  Status Add(std::string_view record);
  // PATH-00000-of-00002 and so on where they are shards, else PATH, of one file.
  Result<std::vector<std::string>> Finish(bool are_shards);

 private:
  static Status CheckNumber(uint64_t shards);
  // Closes the last file.
  Status SetAside();
  void RemoveGuard();
  // What is to come of the last file, to the disk.
  Status Complete();

  FileSystem& fs_;
  const std::string path_;
  const bool may_replace_;
  const Compression compression_;
  std::unique_ptr<WritableFile> guard_;   // once a file is full
  std::unique_ptr<WritableFile> file_;    // the last one
  std::optional<Deflater> deflater_;      // of the last one
  std::vector<std::string> temporaries_;  // where each is now
};

}  // namespace thalweg
