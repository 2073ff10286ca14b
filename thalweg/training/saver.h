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
// Errors: those of the files; a checkpoint that cannot be deleted is only no longer listed.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/graph/graph.h"
#include "thalweg/session/session.h"

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
  int max_to_keep = 5;  // 0: all
  // One checkpoint every so many hours is kept for good.
  double keep_checkpoint_every_n_hours = 10000.0;
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

// A checkpoint that is kept.
struct KeptCheckpoint {
  std::string path;
  double saved_at;  // seconds since 1970
};

class Saver {
 public:
  // InvalidArgument for a handle that is no variable, or a name given twice but for other slices.
  static Result<Saver> Create(Graph* graph, const std::vector<NamedVariable>& variables,
                              SaverOptions options);
  // Of nodes that are there, those that a SaverDef names.
  static Result<Saver> OfNodes(Output filename, Output save_tensor, Node* restore_op,
                               SaverOptions options);

  // Writes PATH or PATH-STEP and returns its name.
  Result<std::string> Save(Session& session, const std::string& path,
                           std::optional<int64_t> global_step);
  // Parts that the checkpoint does not have as slices of one tensor are looked for as tensors named
  // as their nodes are, as checkpoints of Thalweg once had them.
  Status Restore(Session& session, const std::string& path);
  // Oldest first.
  const std::vector<KeptCheckpoint>& kept() const { return kept_; }
  void set_kept(std::vector<KeptCheckpoint> kept) { kept_ = std::move(kept); }
  // The file that Save writes instead of "checkpoint"; "": it writes none and deletes nothing.
  void set_state_file(std::string name) { state_file_ = std::move(name); }

  // The nodes, as a SaverDef names them.
  Output filename() const { return filename_; }
  Output save_tensor() const { return save_tensor_; }
  Node* restore_op() const { return restore_op_; }

 private:
  explicit Saver(SaverOptions options);
  Status AddNodes(Graph* graph, const std::vector<NamedVariable>& variables);
  void Retain(std::string path);
  Status WriteState(const std::string& newest);

  SaverOptions options_;
  PosixFileSystem fs_;
  std::string state_file_ = "checkpoint";
  Output filename_;
  Output save_tensor_;
  Node* restore_op_ = nullptr;
  // Where there are slices: the names and slices that "save/RestoreV2" reads, and what replaces
  // them for a checkpoint that has the parts as tensors.
  std::vector<Session::NamedTensor> parts_as_tensors_;
  std::vector<KeptCheckpoint> kept_;  // oldest first
  double next_preserved_ = 0;
  double last_preserved_ = 0;
};

// The newest checkpoint that the file "checkpoint" of the directory names; NotFound when there is
// none.
Result<std::string> LatestCheckpoint(FileSystem& fs, const std::string& directory);

}  // namespace thalweg
