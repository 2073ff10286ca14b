// SPDX-License-Identifier: Apache-2.0
// SavedMetadata: what the folder of a saved dataset says of itself, and where its files lie.
//
//   ASSIGN_OR_RETURN(const SavedMetadata metadata, ReadMetadata(fs, "/data/squares"));
//   ASSIGN_OR_RETURN(const auto shards, ShardFiles(fs, "/data/squares", metadata.run_id));
//
// Ownership: values; no file stays open.
// Threads: any.
// Errors: NotFound where nothing was saved; FailedPrecondition where what was saved is not whole.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/data/file_sources.h"

namespace thalweg {

struct SavedMetadata {
  std::string run_id;  // the folder in which the shards are
  std::vector<DType> types;
  int64_t elements = 0;
};

std::string NewRunId();
std::string ShardFolder(const std::string& path, const std::string& run_id, int64_t shard);
// As a whole or not at all.
Status WriteMetadata(FileSystem& fs, const std::string& path, const SavedMetadata& metadata);
Result<SavedMetadata> ReadMetadata(FileSystem& fs, const std::string& path);
// The folder of each shard and the files in it, in the order of their names.
Result<std::vector<std::pair<std::string, std::vector<std::string>>>> ShardFiles(
    FileSystem& fs, const std::string& path, const std::string& run_id);

}  // namespace thalweg
