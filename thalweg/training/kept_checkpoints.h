// SPDX-License-Identifier: Apache-2.0
// KeptCheckpoints: which checkpoints of a Saver stay, the newest few, the best few by a metric, one
// in so many hours; and the files beside them that say so.
//
//   KeptCheckpoints kept({.newest = 5, .best = 1});
//   RETURN_IF_ERROR(kept.Add(fs, {.path = "/models/m-7", .metric = 0.25}, "checkpoint"));
//   ASSIGN_OR_RETURN(std::string best, BestCheckpoint(fs, "/models", "checkpoint"));
//
// "checkpoint" is TensorFlow's file; where checkpoints have a metric, "checkpoint.metrics" has a
// line for each of them, value and name. The files are written before anything is removed, so that
// at every moment they name a checkpoint that is there.
// Ownership: keeps names, not files; the file system is used during the call.
// Threads: any. Add and Set come one after another; list() waits for neither, nor for a disk.
// Errors: those of the files. When they cannot be written, what was added is listed and nothing is
// removed: the next Add that succeeds removes what is too old by then. A checkpoint that cannot be
// removed is only no longer listed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/io/checkpoint_files.h"

namespace thalweg {

struct KeptCheckpoint {
  std::string path;
  double saved_at = 0;             // seconds since 1970; Add says it
  std::optional<double> metric{};  // how good it is
};

struct RetentionOptions {
  int newest = 5;  // 0: all, and none is listed but the last
  double every_n_hours = 10000.0;
  int best = 0;  // besides the newest
  bool best_is_greatest = false;
  CheckpointFormat format = CheckpointFormat::kV2;
};

class KeptCheckpoints {
 public:
  explicit KeptCheckpoints(RetentionOptions options);

  // It has been saved: lists it, writes the files named STATE_FILE beside it, removes what is then
  // too old.
  Status Add(FileSystem& fs, KeptCheckpoint added, const std::string& state_file)
      EXCLUDES(changing_, mutex_);
  // Oldest first.
  std::vector<KeptCheckpoint> list() const EXCLUDES(mutex_);
  // Metrics that are not given are looked up in the file beside each.
  void Set(FileSystem& fs, std::vector<KeptCheckpoint> list, const std::string& state_file)
      EXCLUDES(changing_, mutex_);

 private:
  struct State {
    std::vector<KeptCheckpoint> list;  // oldest first
    double next_preserved = 0;         // what was saved later is kept for good
    double last_preserved = 0;
  };
  std::vector<KeptCheckpoint> TakeSuperfluous(State& state) const;
  Status Write(FileSystem& fs, const State& state, const std::string& state_file) const;
  State Now() const EXCLUDES(mutex_);
  void Put(State state) EXCLUDES(mutex_);

  const RetentionOptions options_;
  Mutex changing_;       // held while somebody makes a new state of the one that is there
  mutable Mutex mutex_;  // held for moments only
  State state_ GUARDED_BY(mutex_);
};

// The newest checkpoint that the file "checkpoint" of the directory names; NotFound when there is
// none.
Result<std::string> LatestCheckpoint(FileSystem& fs, const std::string& directory);

// The best of those that are there and have a metric; NotFound when there is none.
Result<std::string> BestCheckpoint(FileSystem& fs, const std::string& directory,
                                   const std::string& state_file);

}  // namespace thalweg
