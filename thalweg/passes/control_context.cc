// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/control_context.h"

#include <algorithm>

namespace thalweg {

void ControlContexts::Add(const Node& node) {
  bool conditional = false;
  int frames = 0;
  const auto look = [&](const Node* before) {
    if (before == nullptr) return;  // a back edge that is still open
    const auto id = static_cast<size_t>(before->id());
    conditional |= conditional_[id] || before->control() == Node::Control::kSwitch ||
                   before->control() == Node::Control::kEnter;
    frames = std::max(frames, frames_[id]);
  };
  for (const Output& input : node.inputs()) look(input.node);
  for (const Node* before : node.control_inputs()) look(before);
  if (node.control() == Node::Control::kEnter) ++frames;
  if (node.control() == Node::Control::kExit) frames = std::max(frames - 1, 0);
  conditional_[static_cast<size_t>(node.id())] = conditional;
  frames_[static_cast<size_t>(node.id())] = frames;
}

}  // namespace thalweg
