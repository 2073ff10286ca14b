// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/graph_copier.h"

#include <algorithm>
#include <utility>

namespace thalweg {

bool IsPlaceholder(const Node& node) {
  const std::string& op = node.op_name();
  return op == "Placeholder" || op == "PlaceholderV2" || op == "PlaceholderWithDefault";
}

bool StepGraph::IsFeed(const Node& node) const {
  return IsPlaceholder(node) &&
         std::find(feeds.begin(), feeds.end(), Output{const_cast<Node*>(&node), 0}) != feeds.end();
}

GraphCopier::GraphCopier(const StepGraph& from) : from_(from) {
  to_.graph = std::make_shared<Graph>(from.graph->shared_registry());
  to_.graph->versions() = from.graph->versions();
  to_.work = from.work;
  nodes_.resize(static_cast<size_t>(from.graph->num_nodes()));
}

Output GraphCopier::Map(const Output& old) const {
  if (old.node == nullptr) return Output();
  if (!redirected_.empty()) {
    const auto found = redirected_.find(old);
    if (found != redirected_.end()) return found->second;
  }
  Node* const now = nodes_[old.node->id()];
  return now == nullptr ? Output() : Output{now, old.index};
}

Node* GraphCopier::Copy(const Node& old) {
  if (visited_.ok()) visited_ = from_.Visit(old);
  std::vector<Output> inputs;
  inputs.reserve(static_cast<size_t>(old.num_inputs()));
  std::vector<int> open;
  for (int i = 0; i < old.num_inputs(); ++i) {
    inputs.push_back(Map(old.input(i)));
    if (inputs.back().node == nullptr) open.push_back(i);
  }
  std::vector<Node*> controls;
  std::unordered_set<const Node*> seen;
  for (const Node* before : old.control_inputs()) {
    Node* const now = Map(before);
    if (now != nullptr && seen.insert(now).second) controls.push_back(now);
  }
  Node* const now = to_.graph->CopyNode(old, std::move(inputs), std::move(controls));
  for (int i : open) LeaveOpen(now, i, old.input(i));
  Replace(old, now);
  SetOrigin(*now, OriginOf(old));
  return now;
}

Result<Node*> GraphCopier::Make(const Node& old, NodeSpec spec) {
  spec.device = old.device();
  spec.site = to_.graph->InternSite(old.graph().Site(old.site()));
  ASSIGN_OR_RETURN(Node * made, to_.graph->AddNode(std::move(spec)));
  SetOrigin(*made, OriginOf(old));
  return made;
}

void GraphCopier::SetOrigin(const Node& now, const Node* origin) {
  if (to_.origins.size() <= static_cast<size_t>(now.id())) {
    to_.origins.resize(static_cast<size_t>(now.id()) + 1);
  }
  to_.origins[now.id()] = origin;
}

Result<StepGraph> GraphCopier::Finish() {
  RETURN_IF_ERROR(visited_);
  for (const OpenEdge& edge : open_) {
    const Output source = Map(edge.old_source);
    if (source.node == nullptr) {
      return Internal(edge.merge->Label(), ": input ", edge.index, " ('",
                      edge.old_source.ToString(), "') was dropped by a pass");
    }
    RETURN_IF_ERROR(to_.graph->SetBackEdge(edge.merge, edge.index, source));
  }
  to_.origins.resize(static_cast<size_t>(to_.graph->num_nodes()));
  to_.feeds.clear();
  for (const Output& feed : from_.feeds) to_.feeds.push_back(Map(feed));
  to_.fetches.reserve(from_.fetches.size());
  for (const Output& fetch : from_.fetches) {
    to_.fetches.push_back(Map(fetch));
    if (to_.fetches.back().node == nullptr) {
      return Internal("the fetched '", fetch.ToString(), "' was dropped by a pass");
    }
  }
  for (const Node* target : from_.targets) {
    Node* const now = Map(target);
    if (now != nullptr) to_.targets.push_back(now);
  }
  return std::move(to_);
}

}  // namespace thalweg
