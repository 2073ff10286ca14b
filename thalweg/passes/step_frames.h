// SPDX-License-Identifier: Apache-2.0
// StepFrames: in which loop each node of a StepGraph runs. An Enter runs in the frame it leaves and
// its value is in the one it opens; an Exit the other way round.
// Ownership: points at nodes of the step's graph, which outlives it.
// Threads: const members from any.
// Errors: InvalidArgument for an Exit outside of any loop.
#pragma once

#include <string>
#include <vector>

#include "thalweg/passes/pass.h"

namespace thalweg {

class StepFrames {
 public:
  struct Frame {
    int parent = -1;
    std::string name;
    int64_t parallel_iterations = 10;
    const Node* condition = nullptr;  // the LoopCond
  };
  static constexpr int kRoot = 0;

  // InvalidArgument for an Exit outside of any loop.
  static Result<StepFrames> Find(const StepGraph& step);

  const std::vector<Frame>& frames() const { return frames_; }
  int Of(const Node& node) const { return runs_in_[node.id()]; }
  int OfValues(const Node& node) const { return values_in_[node.id()]; }

 private:
  int Child(int parent, const Node& enter);

  std::vector<Frame> frames_;
  std::vector<int> runs_in_;
  std::vector<int> values_in_;
};

}  // namespace thalweg
