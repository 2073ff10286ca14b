// SPDX-License-Identifier: Apache-2.0
// NameAsSignature: gives the inputs and outputs of a frozen graph the names that the signature has
// for them, and says which tensors they are.
//
//   RETURN_IF_ERROR(NameAsSignature(signature, part.feed_of, step, &frozen));
//
// A node that has such a name and is another one gets a new name. Characters that no node may have
// become '_'. Inputs that nothing reads are placeholders, those with a default have it. Attributes
// that begin with '_' go: they say where a node was made or shall run.
// Ownership: changes the caller's `frozen`; all else is read during the call.
// Threads: any, on distinct graphs.
// Errors: those of writing an input's default into the graph (tensor/tensor_proto.h).
#pragma once

#include <string>
#include <vector>

#include "thalweg/model/signature.h"
#include "thalweg/passes/pass.h"
#include "thalweg/proto/message.h"

namespace thalweg {

struct FrozenGraph {
  OwnedMessage graph_def;
  // Tensors of the graph, in the signature's order.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string initializer;  // the node that fills the tables; "" where there are none
};

// `frozen`: its graph_def is the step's graph, its initializer a node of it.
Status NameAsSignature(const ModelSignature& signature, const std::vector<int>& feed_of,
                       const StepGraph& step, FrozenGraph* frozen);

}  // namespace thalweg
