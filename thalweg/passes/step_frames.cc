// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/step_frames.h"

namespace thalweg {

int StepFrames::Child(int parent, const Node& enter) {
  const Result<std::string> name = enter.Attr<std::string>("frame_name");
  for (size_t f = 1; f < frames_.size(); ++f) {
    if (frames_[f].parent == parent && name.ok() && frames_[f].name == *name) {
      return static_cast<int>(f);
    }
  }
  Frame frame;
  frame.parent = parent;
  if (name.ok()) frame.name = *name;
  const Result<int64_t> parallel = enter.Attr<int64_t>("parallel_iterations");
  if (parallel.ok()) frame.parallel_iterations = *parallel;
  frames_.push_back(std::move(frame));
  return static_cast<int>(frames_.size()) - 1;
}

Result<StepFrames> StepFrames::Find(const StepGraph& step) {
  StepFrames found;
  found.frames_.emplace_back();
  const std::vector<Node*> nodes = step.graph->Nodes();
  found.runs_in_.resize(nodes.size());
  found.values_in_.resize(nodes.size());
  for (const Node* node : nodes) {
    int frame = kRoot;
    // Sources come first; what waits for nothing is in the root frame and read in every other.
    const auto consider = [&](const Node* source) {
      if (source->id() >= node->id() || frame != kRoot) return;
      frame = found.values_in_[source->id()];
    };
    for (const Output& input : node->inputs()) consider(input.node);
    for (const Node* before : node->control_inputs()) consider(before);
    int values = frame;
    if (node->control() == Node::Control::kEnter) {
      values = found.Child(frame, *node);
    } else if (node->control() == Node::Control::kExit) {
      if (frame == kRoot) return InvalidArgument(node->Label(), " is not in a loop");
      values = found.frames_[frame].parent;
    } else if (node->control() == Node::Control::kLoopCond) {
      found.frames_[frame].condition = node;
    }
    found.runs_in_[node->id()] = frame;
    found.values_in_[node->id()] = values;
  }
  return found;
}

}  // namespace thalweg
