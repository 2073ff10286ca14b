// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <queue>

#include "thalweg/graph/function_body.h"

namespace thalweg {
namespace {

// Nodes that run although nobody reads them.
bool HasEffect(const Node& node) {
  static constexpr std::string_view kHarmless[] = {
      "_Arg",           "Placeholder",     "Variable",           "VariableV2",
      "VarHandleOp",    "ReadVariableOp",  "VarIsInitializedOp", "VariableShape",
      "ResourceGather", "ResourceGatherNd"};
  return node.op().def.is_stateful && std::find(std::begin(kHarmless), std::end(kHarmless),
                                                node.op_name()) == std::end(kHarmless);
}

bool IsBackEdge(const Node& node, const Output& input) {
  return node.control() == Node::Control::kMerge && input.node != nullptr &&
         input.node->control() == Node::Control::kNextIteration;
}

// Calls f for each node that `node` comes after.
template <class F>
void ForEachBefore(const Node& node, const F& f) {
  for (const Output& input : node.inputs()) {
    if (input.node != nullptr && !IsBackEdge(node, input)) f(input.node);
  }
  for (Node* before : node.control_inputs()) f(before);
}

// By id: in how many loop frames a node's values are.
std::vector<int> FrameDepths(const std::vector<Node*>& order, int num_nodes) {
  std::vector<int> depths(static_cast<size_t>(num_nodes));
  for (const Node* node : order) {
    int depth = 0;
    ForEachBefore(*node,
                  [&](const Node* before) { depth = std::max(depth, depths[before->id()]); });
    if (node->control() == Node::Control::kEnter) ++depth;
    if (node->control() == Node::Control::kExit) depth = std::max(depth - 1, 0);
    depths[node->id()] = depth;
  }
  return depths;
}

}  // namespace

// Gradients of loops put newer nodes before older ones.
std::vector<Node*> NodesInOrder(const Graph& graph) {
  std::vector<Node*> nodes = graph.Nodes();
  bool sorted = true;
  std::vector<int> pending(nodes.size());
  std::vector<std::vector<Node*>> readers(nodes.size());
  for (Node* node : nodes) {
    ForEachBefore(*node, [&](const Node* before) {
      sorted &= before->id() < node->id();
      ++pending[node->id()];
      readers[before->id()].push_back(node);
    });
  }
  if (sorted) return nodes;
  const auto later = [](const Node* a, const Node* b) { return a->id() > b->id(); };
  std::priority_queue<Node*, std::vector<Node*>, decltype(later)> ready(later);
  for (Node* node : nodes) {
    if (pending[node->id()] == 0) ready.push(node);
  }
  std::vector<Node*> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (Node* reader : readers[order.back()->id()]) {
      if (--pending[reader->id()] == 0) ready.push(reader);
    }
  }
  return order;
}

void AddEffects(FunctionBody& body) {
  const std::vector<Node*> nodes = body.graph->Nodes();
  const std::vector<int> frames = FrameDepths(nodes, static_cast<int>(nodes.size()));
  for (Node* node : nodes) {
    if (HasEffect(*node) && frames[node->id()] == 0) body.effects.push_back(node);
  }
}

void SortBody(FunctionBody& body) {
  std::vector<bool> needed(static_cast<size_t>(body.graph->num_nodes()));
  std::vector<const Node*> found;
  const auto visit = [&](const Node* node) {
    if (node == nullptr || needed[node->id()]) return;
    needed[node->id()] = true;
    found.push_back(node);
  };
  for (const Output& ret : body.rets) visit(ret.node);
  for (const Node* effect : body.effects) visit(effect);
  for (size_t next = 0; next < found.size(); ++next) {
    const Node* node = found[next];
    for (const Output& input : node->inputs()) visit(input.node);
    for (const Node* before : node->control_inputs()) visit(before);
  }
  body.order = NodesInOrder(*body.graph);
  const std::vector<int> frames = FrameDepths(body.order, body.graph->num_nodes());
  std::erase_if(body.order,
                [&](const Node* node) { return !needed[node->id()] || node->op_name() == "_Arg"; });
  body.has_switches = std::any_of(body.order.begin(), body.order.end(), [&](const Node* node) {
    return node->control() == Node::Control::kSwitch && frames[node->id()] == 0;
  });
}

}  // namespace thalweg
