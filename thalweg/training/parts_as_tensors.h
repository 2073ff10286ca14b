// SPDX-License-Identifier: Apache-2.0
// PartsAsTensors: how the parts of variables are read from checkpoints that have each as a tensor
// of its own, named as its node is. Thalweg wrote them so before it wrote slices of one tensor.
//
//   PartsAsTensors parts(restore, {"p", "p"}, {"5 0,3", "5 3,2"}, {"p/part_0", "p/part_1"});
//   parts.Rename(reader, &rows);                      // "p" is not there, "p/part_0" is
//   std::vector<Session::NamedTensor> feeds = parts.FeedsOf(rows);  // let `restore` read the same
//
// Ownership: the graph must outlive it.
// Threads: as a value.
// Errors: none; where there are no such tensors nothing is renamed.
#pragma once

#include <string>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/io/checkpoint_reader.h"
#include "thalweg/session/session.h"
#include "thalweg/training/saver_nodes.h"

namespace thalweg {

class PartsAsTensors {
 public:
  PartsAsTensors() = default;  // of no variable
  // From the outputs of `restore`, a RestoreV2: what it reads, and the names of the nodes that are
  // set, which are those of the tensors where there is no slice.
  PartsAsTensors(Node* restore, std::vector<std::string> names, std::vector<std::string> slices,
                 std::vector<std::string> names_of_parts);

  // Rows of a tensor that the checkpoint does not have, but parts of it, become these parts.
  void Rename(const CheckpointReader& reader, std::vector<RestoredTensor>* rows) const;
  // Makes `restore` read what the rows say; empty where that is what it reads anyway.
  std::vector<Session::NamedTensor> FeedsOf(const std::vector<RestoredTensor>& rows) const;

 private:
  // The name of the part that a row would be; null for a row that is none.
  const std::string* PartOf(const RestoredTensor& row) const;

  Node* restore_ = nullptr;
  std::vector<std::string> names_, slices_, names_of_parts_;
};

}  // namespace thalweg
