// SPDX-License-Identifier: Apache-2.0
// The nodes of one variable: its state, its initializer, and a read, under the names that
// TensorFlow's front end gives them ("w", "w/Assign", "w/read" or "w/Read/ReadVariableOp"), so that
// checkpoints and tools find them.
// Ownership: nodes belong to the graph.
// Threads: one at a time with a graph, as GraphBuilder.
// Errors: InvalidArgument for an initial value without a full shape and for a handle that is no
// variable's; those of AddNode.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/graph/graph.h"
#include "thalweg/graph/graph_builder.h"

namespace thalweg {

struct VariableNodes {
  Output handle;                // the reference edge of VariableV2, or the handle of VarHandleOp
  Node* initializer = nullptr;  // run it once before the first read
  Output value;                 // a read that every use of the variable may share
  bool is_resource() const {
    return handle.node != nullptr && handle.node->op_name() == "VarHandleOp";
  }
  DType dtype() const;
  PartialShape shape() const;
};

// A variable `name` (under the builder's prefix) that starts as `initial_value`, whose shape must
// be fully defined.
Result<VariableNodes> AddVariable(GraphBuilder b, std::string_view name, Output initial_value,
                                  bool use_resource);

// Finds the parts of a variable that is already there by its handle. InvalidArgument when it is no
// variable.
Result<VariableNodes> VariableOf(Output handle);

}  // namespace thalweg
