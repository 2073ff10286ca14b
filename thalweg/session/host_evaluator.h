// SPDX-License-Identifier: Apache-2.0
// HostEvaluator: an Evaluator on the environment's first device, in the calling thread.
// Ownership: the environment outlives it; outputs are the caller's.
// Threads: every member from any.
// Errors: Unimplemented for a node that only a step can run; those of its kernel and of `work`.
#pragma once

#include "thalweg/kernel/evaluator.h"
#include "thalweg/session/environment.h"

namespace thalweg {

class HostEvaluator : public Evaluator {
 public:
  // The environment outlives it.
  explicit HostEvaluator(Environment& environment) : environment_(environment) {}
  Result<std::vector<Tensor>> Evaluate(const Node& node, std::span<const Tensor> inputs,
                                       WorkBudget* work) override;

 private:
  Environment& environment_;
};

}  // namespace thalweg
