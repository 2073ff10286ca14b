// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/nesting.h"

#include <algorithm>

#include "thalweg/graph/function_body.h"

namespace thalweg {

std::vector<int> NestingOf(const Graph& graph) {
  using Control = Node::Control;
  std::vector<int> nesting(static_cast<size_t>(graph.num_nodes()));
  for (const Node* node : NodesInOrder(graph)) {
    int depth = 0;
    bool closes_loop = false;
    const auto read = [&](const Node* source) {
      if (source->control() == Control::kNextIteration) {
        closes_loop = true;
      } else {
        depth = std::max(depth, nesting[static_cast<size_t>(source->id())]);
      }
    };
    for (const Output& input : node->inputs()) {
      if (input.node != nullptr) read(input.node);
    }
    for (const Node* source : node->control_inputs()) read(source);
    const Control control = node->control();
    if (control == Control::kEnter || control == Control::kSwitch) ++depth;
    if (control == Control::kMerge && !closes_loop) --depth;
    if (control == Control::kExit) depth -= 2;  // of the Switch and of the Enter
    nesting[static_cast<size_t>(node->id())] = std::max(depth, 0);
  }
  return nesting;
}

}  // namespace thalweg
