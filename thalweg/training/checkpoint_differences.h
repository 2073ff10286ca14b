// SPDX-License-Identifier: Apache-2.0
// CheckpointDifferences: all in which a checkpoint differs from what a graph restores of it.
//
//   ASSIGN_OR_RETURN(const CheckpointDifferences found, CompareCheckpoint(reader, rows));
//   if (!found.fits()) return found.ToStatus(path);
//
// Ownership: values; reader and rows are used during the call.
// Threads: any.
// Errors: ToStatus is NotFound where a tensor is missing, else InvalidArgument where a shape or
// type differs; its message has every difference.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/io/checkpoint_reader.h"
#include "thalweg/training/saver_nodes.h"

namespace thalweg {

struct RestoreDifference {
  enum class Kind { kMissing, kExtra, kShape, kType };  // as TwDifferenceKind has them
  Kind kind;
  std::string name;
  std::string in_checkpoint;  // the shape or type there; "" where it is missing
  std::string in_graph;       // "" for what is extra
};

struct CheckpointDifferences {
  std::vector<RestoreDifference> all;  // by kinds, then by names
  std::vector<bool> row_fits;          // of the rows that were compared

  // Nothing but extra tensors in the checkpoint, which no restore minds.
  bool fits() const;
  Status ToStatus(const std::string& path) const;
};

Result<CheckpointDifferences> CompareCheckpoint(const CheckpointReader& reader,
                                                const std::vector<RestoredTensor>& rows);

}  // namespace thalweg
