// SPDX-License-Identifier: Apache-2.0
// NodeMaker: what Graph::AddNode does before the node joins the graph: checks of names, arguments
// and attributes, inference of attributes and shapes. One object makes one node.
// Ownership: the node is the caller's until the graph takes it; what Replace and Rewire change
// stays the graph's.
// Threads: one at a time; what it changes nobody else reads meanwhile.
// Errors: InvalidArgument with node, operation and site, NotFound for an unknown operation; the
// graph stays as it was.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/graph/graph.h"

namespace thalweg {

class NodeMaker {
 public:
  NodeMaker(Graph& graph, NodeSpec spec) : graph_(graph), spec_(std::move(spec)) {}
  // A node that has no id yet and is in no graph's list. Errors name node, operation and site.
  Result<std::unique_ptr<Node>> Make();

  // What a user knows of an output's shape beyond inference: later nodes are inferred from both.
  // InvalidArgument when it contradicts what is known. Not while another thread reads the node.
  static Status RefineShape(const Output& output, const PartialShape& shape);

  // Gives a node another source for input i, of the same type, other control inputs, another value
  // of an attribute, or another device. Only of a node that whoever calls has just made and
  // nobody else has seen. Shapes stay as inferred.
  static Status ReplaceInput(Node* node, int i, const Output& source);
  static void ReplaceControlInputs(Node* node, std::vector<Node*> before);
  static void ReplaceAttr(Node* node, std::string_view attr, AttrValue value);
  static void ReplaceDevice(Node* node, std::string device);

  // Gives a node that others know already another source for input i, of the same type and a shape
  // that fits what is known of the old one. InvalidArgument, which changes nothing, for another
  // graph's, a loop's back edge, and with the path when a cycle would close. Not while another
  // thread prepares a run of the node; a session that has prepared one keeps it.
  static Status Rewire(Node* node, int i, const Output& source);

 private:
  Status Build();
  Status FindOp();
  Status CheckSources();
  Status CheckGivenAttrs();
  Status SolveListLength();
  Status MatchInputs();
  Status MatchArg(const ArgDef& arg, size_t begin, size_t end);
  Status CompleteAttrs();
  Status MakeOutputs();
  Status AppendOutputs(const ArgDef& arg);
  Status InferShapes();

  // The type of flat input i as its source gives it; kInvalid for an open back edge.
  DType SourceType(size_t i) const;
  // Absent for a list whose length is not given.
  Result<std::optional<size_t>> GivenLength(const ArgDef& arg) const;
  std::string InputText(const ArgDef& arg, size_t begin, size_t i) const;
  Status CountError() const;
  std::string ShapeErrorText(std::string_view message) const;

  Graph& graph_;
  NodeSpec spec_;
  const OpDef* def_ = nullptr;
  std::unique_ptr<Node> node_;
  // The one list whose length follows from the number of inputs.
  const std::string* solved_attr_ = nullptr;
  size_t solved_length_ = 0;
  bool is_inferring_ = false;  // all but the shape function has passed
};

// Letters, digits and "_.\/>-", the first of them a letter, a digit or '.'.
bool IsValidNodeName(std::string_view name);

}  // namespace thalweg
