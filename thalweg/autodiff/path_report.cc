// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/path_report.h"

#include <algorithm>
#include <unordered_map>

#include "thalweg/autodiff/gradients.h"

namespace thalweg {
namespace {

// Shortest data path from a y back to x: x's node first. Empty when there is none.
std::vector<Node*> ShortestPath(const std::vector<Output>& ys, const Node* x) {
  std::unordered_map<Node*, Node*> consumer_of;  // towards y; null at a y
  std::vector<Node*> queue;
  for (const Output& y : ys) {
    if (consumer_of.try_emplace(y.node, nullptr).second) queue.push_back(y.node);
  }
  for (size_t i = 0; i < queue.size(); ++i) {
    if (queue[i] == x) {
      std::vector<Node*> path;
      for (Node* node = queue[i]; node != nullptr; node = consumer_of[node]) path.push_back(node);
      return path;
    }
    for (const Output& input : queue[i]->inputs()) {
      if (input.node != nullptr && consumer_of.try_emplace(input.node, queue[i]).second)
        queue.push_back(input.node);
    }
  }
  return {};
}

// Why no gradient goes from `consumer` to its producer; empty when one may.
std::string Obstacle(const Node& consumer, const Node& producer) {
  if (!consumer.op().not_differentiable.empty()) return consumer.op().not_differentiable;
  const auto& inputs = consumer.inputs();
  const auto edge = std::find_if(inputs.begin(), inputs.end(),
                                 [&](const Output& o) { return o.node == &producer; });
  if (edge != inputs.end() && !IsDifferentiable(edge->dtype())) {
    return StrCat("its input '", *edge, "' has type ", edge->dtype());
  }
  return "";
}

}  // namespace

std::string ReportBrokenPath(const std::vector<Output>& ys, const Output& x) {
  const std::string head =
      StrCat("no gradient of '", ys.front(), ys.size() > 1 ? "' (and others)" : "'",
             " with respect to '", x, "': ");
  const std::vector<Node*> path = ShortestPath(ys, x.node);
  if (path.empty()) return StrCat(head, "it does not depend on '", x, "'");
  for (size_t i = path.size() - 1; i > 0; --i) {  // from y towards x
    const std::string why = Obstacle(*path[i], *path[i - 1]);
    if (!why.empty()) {
      return StrCat(head, "the path from '", x, "' breaks at ", path[i]->Label(), " (",
                    path[i]->graph().Site(path[i]->site()), "): ", why);
    }
  }
  return StrCat(head, "the gradient functions along the path, from ", path.back()->Label(),
                " back to ", path.front()->Label(),
                ", pass nothing on to it (or stop_gradients cut it)");
}

}  // namespace thalweg
