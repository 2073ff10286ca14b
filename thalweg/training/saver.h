// SPDX-License-Identifier: Apache-2.0
// Saver: saves variables to checkpoints, of format V2 or V1, and restores them, keeping the newest
// few (papers B4.3).
//
//   ASSIGN_OR_RETURN(Saver saver, Saver::Create(&graph, {{"w", w.handle}, {"b", b.handle}}, {}));
//   ASSIGN_OR_RETURN(std::string path, saver.Save(session, "/models/m", step));    // "/models/m-7"
//   ASSIGN_OR_RETURN(std::string newest, LatestCheckpoint(fs, "/models"));
//   RETURN_IF_ERROR(saver.Restore(session, newest));
//
// Create adds the nodes "save/Const", "save/control_dependency" and "save/restore_all" under the
// names that MetaGraphs give them. Parts of a partitioned variable have one name and each a slice.
// Save also keeps the file "checkpoint" beside the models, which names the newest and those kept.
// With `in_background` Save returns when it has the values, all of one step, and a thread writes
// them: here, whatever task they are of. They share their memory with the variables until those
// are updated. One is written at a time, at leisure until somebody waits.
// Ownership: nodes belong to the graph; it shares its list of checkpoints with what is written in
// the background, which holds the values.
// Threads: one at a time. The destructor waits for what is written, as long as `patience`.
// Errors: those of the files; a checkpoint that cannot be deleted is only no longer listed. What
// went wrong in the background is the error of the next Save or Wait. A checkpoint that does not
// fit is refused with every difference before anything is restored, where its index can be read
// here; else with the first that its reader meets.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/graph/graph.h"
#include "thalweg/session/session.h"
#include "thalweg/training/background_write.h"
#include "thalweg/training/checkpoint_differences.h"
#include "thalweg/training/kept_checkpoints.h"
#include "thalweg/training/parts_as_tensors.h"

namespace thalweg {

// What a checkpoint holds besides variables: a tensor, or its part of a larger one ("": the whole;
// the text of SaveV2's shape_and_slices). The values restored are the last outputs of
// "save/RestoreV2"; who gives the tensors adds what sets them to the control inputs of
// "save/restore_all".
struct SavedTensor {
  std::string name;
  std::string slice;
  Output value;
};

struct SaverOptions {
  int max_to_keep = 5;  // 0: all, and only the last is listed
  // One checkpoint every so many hours is kept for good.
  double keep_checkpoint_every_n_hours = 10000.0;
  int keep_best = 0;              // besides those, the best of what is saved with a metric
  bool best_is_greatest = false;  // else the least
  bool in_background = false;
  std::chrono::nanoseconds patience = std::chrono::minutes(10);  // with what is still written
  int write_version = 2;  // the format that is written, 1 or 2; both are read
  std::string scope = "save";
  uint32_t site = 0;  // of the nodes: Graph::InternSite
  std::vector<SavedTensor> tensors;
};

struct NamedVariable {
  std::string name;  // in the checkpoint
  Output handle;
  std::string slice{};  // "10 4 0,5:0,4": the part it is of a larger tensor; "": the whole
};

struct SaveRequest {
  std::string path;  // PATH, or PATH-STEP
  std::optional<int64_t> global_step{};
  std::optional<double> metric{};  // how good the model is, for keep_best
  // Written beside it once it is there, as PATH-STEP.SUFFIX; "": nothing.
  std::string suffix{};
  std::string contents{};
};

class Saver {
 public:
  // InvalidArgument for a handle that is no variable, or a name given twice but for other slices.
  static Result<Saver> Create(Graph* graph, const std::vector<NamedVariable>& variables,
                              SaverOptions options);
  // A saver of nodes that are there already, which a SaverDef names.
  static Result<Saver> OfNodes(Output filename, Output save_tensor, Node* restore_op,
                               SaverOptions options);
  Saver(Saver&&) = default;
  ~Saver();

  // Writes PATH or PATH-STEP and returns its name.
  Result<std::string> Save(Session& session, const std::string& path,
                           std::optional<int64_t> global_step);
  Result<std::string> Save(Session& session, SaveRequest request);
  // Parts that the checkpoint does not have as slices of one tensor are looked for as tensors named
  // as their nodes are (parts_as_tensors.h), here and in what follows.
  Status Restore(Session& session, const std::string& path);
  // Restores what fits, and leaves the rest as it is; tells all that differs. The checkpoint must
  // be readable here. All that fits is read before anything is set, into the environment's memory.
  Result<CheckpointDifferences> RestorePart(Session& session, const std::string& path);
  // What Restore would complain of; nothing is restored.
  Result<CheckpointDifferences> Compare(const std::string& path);
  // Returns when nothing is written in the background any more. An error of that is told once;
  // DeadlineExceeded when it still is.
  Status Wait(std::chrono::nanoseconds patience);
  std::chrono::nanoseconds patience() const { return options_.patience; }
  bool is_writing() const { return write_ != nullptr && !write_->is_done(); }
  // Oldest first.
  std::vector<KeptCheckpoint> kept() const { return kept_->list(); }
  // Metrics that are not given are those in the file of metrics.
  void set_kept(std::vector<KeptCheckpoint> kept) { kept_->Set(fs_, std::move(kept), state_file_); }
  // The file that Save writes instead of "checkpoint"; "": it writes none and deletes nothing.
  void set_state_file(std::string name) { state_file_ = std::move(name); }

  // The nodes, as a SaverDef names them.
  Output filename() const { return filename_; }
  Output save_tensor() const { return save_tensor_; }
  Node* restore_op() const { return restore_op_; }

 private:
  explicit Saver(SaverOptions options);
  Status AddNodes(Graph* graph, const std::vector<NamedVariable>& variables);
  Result<std::string> SaveInBackground(Session& session, SaveRequest request);
  std::vector<RestoredTensor> RowsFor(const CheckpointReader& reader) const;
  void LetWriteEnd() const;

  SaverOptions options_;
  PosixFileSystem fs_;
  std::string state_file_ = "checkpoint";
  Output filename_;
  Output save_tensor_;
  Node* restore_op_ = nullptr;
  PartsAsTensors parts_;
  std::shared_ptr<KeptCheckpoints> kept_;  // shared with what is written in the background
  std::unique_ptr<BackgroundWrite> write_;
};

}  // namespace thalweg
