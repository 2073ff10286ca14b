// SPDX-License-Identifier: Apache-2.0
// UnknownOperations: the operations of a GraphDef that this build does not have, what of the graph
// needs them, and the graph without that.
//
//   const UnknownOperations unknown(graph_def, *environment->shared_ops());
//   if (!unknown.empty()) {
//     OwnedMessage rest = unknown.WithoutThem();
//     UnknownOperations::Names needed = unknown.NeededBy({"logits:0"}, {"images:0"});
//   }
//
// Linear in nodes and edges, functions included.
// Ownership: the message and the registry must outlive it.
// Threads: const members from any.
// Errors: none; a function that cannot be read has no unknown operations.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thalweg/graph/op_registry.h"
#include "thalweg/proto/message.h"

namespace thalweg {

class UnknownOperations {
 public:
  using Names = std::set<std::string, std::less<>>;

  UnknownOperations(const Message& graph_def, const OpRegistry& registry);

  bool empty() const { return all_.empty(); }
  const Names& all() const { return all_; }
  // "'Foo' (nearest: 'Fool'), 'Bar'".
  std::string Text(const Names& names) const;
  // Those that tensors ("name:0") or nodes need when others are fed.
  Names NeededBy(const std::vector<std::string>& outputs,
                 const std::vector<std::string>& fed) const;
  // Whether WithoutThem has left the node out, and whether a node that was left out reads it.
  bool IsDropped(std::string_view node) const { return dropped_.count(node) > 0; }
  bool IsReadByDropped(std::string_view node) const { return read_by_dropped_.count(node) > 0; }
  // The graph without nodes and functions that need them.
  OwnedMessage WithoutThem() const;

 private:
  using Nodes = std::unordered_set<std::string_view>;

  Names OfNode(const Message& node) const;
  std::vector<std::string_view> FunctionsOf(const Message& node) const;
  void FindInFunctions();
  void FindDropped();

  const Message& graph_def_;
  const OpRegistry& registry_;
  std::unordered_map<std::string_view, const Message*> functions_;
  std::unordered_map<std::string_view, const Message*> nodes_;
  std::unordered_map<std::string_view, Names> in_function_;  // those that it or what it calls has
  std::unordered_map<std::string_view, Names> in_node_;
  Nodes dropped_;
  Nodes read_by_dropped_;
  Names all_;
};

}  // namespace thalweg
