// SPDX-License-Identifier: Apache-2.0
// ImportPlan: where the inputs of a GraphDef's nodes come from, and an order in which the nodes can
// be made: sources first, otherwise as the GraphDef has them. Private to graph_import.cc.
// Ownership: the messages and the options outlive it.
// Threads: one makes it; then const members from any.
// Errors: InvalidArgument for duplicate names, unknown inputs, cycles without a NextIteration, keys
// of the input map that nothing of the GraphDef is called.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thalweg/graph/graph_proto.h"

namespace thalweg {

inline constexpr int kControlPort = -1;

// "name", "name:1", "^name".
struct TensorName {
  std::string_view node;
  int port = 0;  // kControlPort for "^name"
};
std::optional<TensorName> ParseTensorName(std::string_view text);

class ImportPlan {
 public:
  // Where an input comes from: a node of the GraphDef, or an output of the graph.
  struct Source {
    int node = -1;    // index in the GraphDef; -1: mapped
    int port = 0;     // kControlPort for control inputs
    int mapped = -1;  // index in the input map
    bool is_back_edge = false;
  };

  // Both outlive the plan.
  ImportPlan(std::span<const Message* const> nodes, const ImportOptions& options)
      : nodes_(nodes), options_(options) {}
  Status Make(const Graph& graph);

  const std::vector<int>& order() const { return order_; }
  std::span<const Source> Sources(int i) const {
    return {sources_.data() + first_source_[i], first_source_[i + 1] - first_source_[i]};
  }
  // -1 when there is no such node.
  int FindNode(std::string_view name) const;
  // The index in the input map; -1 when the name is not replaced.
  int FindMapped(const TensorName& name, std::string_view text) const;

 private:
  Status IndexNames();
  Status IndexInputMap(const Graph& graph);
  Status ResolveInputs();
  Status CheckInputMap() const;
  Status ResolveInput(int node, std::string_view text, Source* source);
  Status OrderNodes();
  Status SortNodes(std::vector<int> pending);
  Status CycleError(const std::vector<int>& pending) const;

  std::string_view Name(int i) const { return nodes_[i]->GetString(pb::NodeDef::kName); }
  std::string_view Op(int i) const { return nodes_[i]->GetString(pb::NodeDef::kOp); }
  int num_nodes() const { return static_cast<int>(nodes_.size()); }

  const std::span<const Message* const> nodes_;
  const ImportOptions& options_;
  std::unordered_map<std::string_view, int> by_name_;
  std::unordered_map<std::string_view, int> input_map_;
  std::vector<size_t> first_source_;
  std::vector<Source> sources_;
  std::vector<int> order_;
};

}  // namespace thalweg
