// SPDX-License-Identifier: Apache-2.0
// FunctionBuilder: a function of a graph's library, under construction. Its body is a graph of its
// own; what a node of it reads of the graph outside goes through Inside, and is one more argument.
//
//   FunctionBuilder scaled(outside);
//   ASSIGN_OR_RETURN(Output x, scaled.AddArg("x", DType::kFloat, PartialShape()));
//   ASSIGN_OR_RETURN(Output w, scaled.Inside(weight));
//   ASSIGN_OR_RETURN(Node * y, scaled.body()->AddNode({.op = "Mul", .inputs = {x, w}}));
//   ASSIGN_OR_RETURN(std::string name, scaled.Define({.name = "scaled", .results = {{y, 0}}}));
//
// A call passes the arguments, then captures(). A body may hold functions of its own; their
// definitions go outward with it, so that at the end the outermost graph has them all.
// Ownership: the body lives as long as the builder or whoever shares it, and keeps the graphs
// outside.
// Threads: one at a time.
// Errors: InvalidArgument for what is of neither graph, FailedPrecondition for what a body cannot
// hold.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/graph/graph.h"

namespace thalweg {

struct FunctionSpec {
  std::string name;
  // The name gets "_" and a number that depends on the definition: equal functions are one.
  bool append_hash = false;
  std::vector<Output> results;            // of the body, or outside
  std::vector<std::string> result_names;  // none: made from the nodes' names
};

class FunctionBuilder {
 public:
  // `enclosing` builds the function whose body `outside` is; null where that is no body.
  explicit FunctionBuilder(std::shared_ptr<Graph> outside,
                           std::shared_ptr<FunctionBuilder> enclosing = nullptr);

  const std::shared_ptr<Graph>& body() const { return body_; }
  // An argument; all of them come before the first capture.
  Result<Output> AddArg(std::string_view name, DType dtype, const PartialShape& shape);
  // What stands in the body for an output of the body, of the graph outside, or of one further out.
  Result<Output> Inside(const Output& output);
  // An output of the graph outside as the body makes it itself: a copy of its node and of all that
  // it depends on. FailedPrecondition where that holds what only a session has: what is fed,
  // variables and other resources.
  Result<Output> CopyInside(const Output& output);
  // Puts the function into the library of the graph outside; its name there.
  Result<std::string> Define(const FunctionSpec& spec);
  // What the body reads from outside, in the order of its last arguments.
  const std::vector<Output>& captures() const { return captures_; }
  // Arguments that are no captures.
  int num_arguments() const { return static_cast<int>(args_.size() - captures_.size()); }
  Output argument(int i) const { return {args_[static_cast<size_t>(i)], 0}; }
  const std::shared_ptr<Graph>& outside() const { return outside_; }
  // Gives functions that one node calls with the same inputs the same captures, in one order: those
  // of the first, then what the others read besides. InvalidArgument where their graphs outside
  // are not one.
  static Status UniteCaptures(std::span<FunctionBuilder* const> functions);

 private:
  Result<Output> AddArgNode(std::string_view name, DType dtype, const PartialShape& shape,
                            const HandleShape* handle);

  const std::shared_ptr<Graph> outside_;
  const std::shared_ptr<FunctionBuilder> enclosing_;
  const std::shared_ptr<Graph> body_;
  std::vector<Node*> args_;
  std::vector<Output> captures_;
  std::unordered_map<const Node*, std::vector<std::pair<int, Output>>> inside_;
  std::unordered_map<const Node*, Node*> copies_;
};

}  // namespace thalweg
