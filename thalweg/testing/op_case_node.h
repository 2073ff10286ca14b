// SPDX-License-Identifier: Apache-2.0
// CaseNode: a graph with the node under test and one source node per input; and its run. The inner
// workings of OpCase.
// Ownership: a node owns its graph; registries and machine outlive it.
// Threads: the test's.
// Errors: InvalidArgument for a case that does not fit the schema; those of AddNode and of the run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/op_values.h"

namespace thalweg {

// What inference is told about the inputs.
enum class Knowledge { kShapes, kUnknownDims, kUnknownRank, kValues };

struct CaseInput {
  DType dtype = DType::kInvalid;
  bool is_ref = false;
  bool is_resource = false;  // dtype is the variable's
  Tensor value;
};

// Dtypes and values of the inputs of `op`, by its schema. InvalidArgument when the case does not
// fit the schema.
Result<std::vector<CaseInput>> MakeCaseInputs(const OpDef& op, const std::vector<In>& inputs,
                                              const AttrMap& attrs, Allocator& allocator);

// Shape functions for the operations that cases use as sources, in a registry of a few operations.
void RegisterSources(OpRegistry& registry);

class CaseNode {
 public:
  // Error: what AddNode says.
  static Result<std::unique_ptr<CaseNode>> Make(const std::shared_ptr<const OpRegistry>& ops,
                                                const std::string& op, const AttrMap& attrs,
                                                const std::vector<CaseInput>& inputs,
                                                Knowledge knowledge);

  struct Outcome {
    std::vector<Tensor> outputs;  // without references; variables' values after the run behind them
    bool inputs_unchanged = true;
  };
  // Runs the node with inputs pinned, or (take) in buffers that nobody else holds.
  Result<Outcome> Run(const KernelRegistry& kernels, TestMachine& machine,
                      const std::vector<CaseInput>& inputs, bool take) const;

  Graph& graph() const { return *graph_; }
  const Node& node() const { return *node_; }
  const std::vector<Output>& sources() const { return sources_; }

 private:
  std::unique_ptr<Graph> graph_;
  std::vector<Output> sources_;
  Node* node_ = nullptr;
};

}  // namespace thalweg
