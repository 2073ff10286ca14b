// SPDX-License-Identifier: Apache-2.0
// The nodes of a saver as they stand in a graph, whoever made them: what its SaveV2 operations
// write, and which tensor of a checkpoint sets what when it restores.
//
//   for (const Node* save : SaveNodes(saver.save_tensor())) CHECK(save->num_inputs() > 3);
//   for (const RestoredTensor& row : RestoredTensors(*saver.restore_op())) {
//     CHECK(!row.name.empty());
//   }
//
// Ownership: values; nodes are the graph's.
// Threads: any.
// Errors: none; what is not known is left out.
#pragma once

#include <string>
#include <vector>

#include "thalweg/graph/graph.h"

namespace thalweg {

// SaveV2 operations that must run before `save_tensor` is there.
std::vector<Node*> SaveNodes(Output save_tensor);

// One tensor that a restore reads.
struct RestoredTensor {
  std::string name;        // in the checkpoint
  std::string slice;       // the part of it, in SaveV2's words; "": the whole
  Output value;            // of RestoreV2
  PartialShape shape;      // that what is set must have
  Node* setter = nullptr;  // sets a variable or table to it, perhaps with other tensors
};

// Those whose names are constants, by setters.
std::vector<RestoredTensor> RestoredTensors(const Node& restore_op);

}  // namespace thalweg
