// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: builds graph fragments with one call a node. The first error sticks: later calls
// return null Outputs and do nothing, so code reads like an expression and asks status() once.
//
//   GraphBuilder b(&graph);
//   Output y = b.Op("MatMul", {x, w}, {{"transpose_b", true}});
//   Output z = b.Scope("loss").Op("Mean", {y, b.Const(std::vector<int32_t>{0})});
//   RETURN_IF_ERROR(b.status());
//
// Copies (Scope, WithControls ...) share the status.
// Ownership: the graph outlives it and owns the nodes.
// Threads: one thread at a time.
// Errors: those of AddNode; InvalidArgument for a node without the output asked for and a constant
// without a value. The first one sticks in status().
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/graph/graph.h"

namespace thalweg {

class GraphBuilder {
 public:
  explicit GraphBuilder(Graph* graph);

  // Nodes made by the copy get "name/" before their names; the scope itself is made unique when
  // used before.
  GraphBuilder Scope(std::string_view name) const;
  // The full prefix, "" or "a/b/".
  const std::string& prefix() const { return prefix_; }
  GraphBuilder WithControls(std::vector<Node*> before) const;
  GraphBuilder WithDevice(std::string device) const;
  // Nodes get the colocation constraint loc:@node.
  GraphBuilder ColocatedWith(const Node& node) const;
  GraphBuilder WithSite(uint32_t site) const;

  // Output 0 of a new node; inputs are flat. `name` is put under the prefix and made unique; ""
  // takes the op's name.
  Output Op(std::string_view op, std::vector<Output> inputs, AttrMap attrs = {},
            std::string_view name = {});
  // The node itself, null after an error.
  Node* OpNode(std::string_view op, std::vector<Output> inputs, AttrMap attrs = {},
               std::string_view name = {});
  Output Const(const Tensor& value, std::string_view name = "Const");
  template <class T>
  Output Const(const std::vector<T>& values, std::string_view name = "Const") {
    return Const(Tensor::Of<T>(values, Shape{static_cast<int64_t>(values.size())}), name);
  }
  // A scalar `value` converted to `dtype` (any number type).
  Output ScalarConst(DType dtype, double value, std::string_view name = "Const");
  // A NoOp after all of `nodes`.
  Node* Group(const std::vector<Node*>& nodes, std::string_view name = "group_deps");

  Graph& graph() const { return *graph_; }
  bool ok() const { return status_->ok(); }
  const Status& status() const { return *status_; }
  // Sets the status unless one is set.
  void Fail(Status status) const;

 private:
  Graph* graph_;
  std::shared_ptr<Status> status_;
  std::string prefix_;
  std::vector<Node*> controls_;
  std::string device_;
  std::string colocate_;
  uint32_t site_ = 0;
};

}  // namespace thalweg
