// SPDX-License-Identifier: Apache-2.0
// What the nodes of a step are, for tests of passes: all but placeholders and constants.
#pragma once

#include <string>
#include <vector>

#include "thalweg/passes/pass.h"

namespace thalweg {

inline std::vector<std::string> StepOps(const StepGraph& step) {
  std::vector<std::string> found;
  for (const Node* node : step.graph->Nodes()) {
    if (node->op_name() != "Placeholder" && node->op_name() != "Const") {
      found.push_back(node->op_name());
    }
  }
  return found;
}

}  // namespace thalweg
