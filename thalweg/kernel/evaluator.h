// SPDX-License-Identifier: Apache-2.0
// Evaluator: runs one node now, outside any step: what passes compute constants with.
// Ownership: outputs are the caller's; the evaluator keeps nothing of the node.
// Threads: every member from any.
// Errors: Unimplemented for a node that it cannot run; those of the kernel and of `work`.
#pragma once

#include <span>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/base/work_budget.h"
#include "thalweg/graph/graph.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // The outputs of a stateless node for these inputs. Unimplemented when this evaluator cannot run
  // it (no kernel, an asynchronous one), else what the kernel said. `work`, which may be null, can
  // end the kernel early.
  virtual Result<std::vector<Tensor>> Evaluate(const Node& node, std::span<const Tensor> inputs,
                                               WorkBudget* work) = 0;
};

}  // namespace thalweg
