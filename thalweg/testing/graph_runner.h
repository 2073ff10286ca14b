// SPDX-License-Identifier: Apache-2.0
// GraphRunner: runs a piece of a graph the plainest way: node by node in topological order, in the
// caller's thread, no session, no executor, no control flow. Tests of operations use it.
//
//   GraphRunner runner(kernels, machine);
//   ASSIGN_OR_RETURN(std::vector<Tensor> y,
//                    runner.Run({{x, Tensor::Scalar(2.0f)}}, {b.Op("Neg", {x})}));
//
// A fed output replaces its node. Constants are read from their attribute. Every output is checked
// against what inference promised: dtype, and a shape that the inferred one admits. Variables and
// kernels live as long as the runner, so state survives from run to run.
// Ownership: owns its kernels and resources; registry and machine outlive it, tensors are the
// test's.
// Threads: one at a time.
// Errors: the kernels', with the node's label before them; Internal for an output that inference
// did not promise, Unimplemented for control flow.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/graph/graph.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/local_rendezvous.h"
#include "thalweg/testing/test_machine.h"

namespace thalweg {

using Feeds = std::vector<std::pair<Output, Tensor>>;

class GraphRunner {
 public:
  GraphRunner(const KernelRegistry& kernels, TestMachine& machine);

  // The values of `fetches`, after running them, `targets` and what they need. A fetched reference
  // stays one.
  Result<std::vector<Tensor>> Run(Feeds feeds, const std::vector<Output>& fetches,
                                  const std::vector<Node*>& targets = {});
  // When set, a kernel may take the buffer of an input at its last use, also of a fed tensor that
  // nobody else holds. Off: every input is pinned.
  void set_take_inputs(bool take) { take_inputs_ = take; }
  ResourceManager& resources() { return resources_; }

 private:
  struct Step;
  Status RunNode(Step& step, const Node& node);
  Result<Kernel*> KernelOf(const Node& node);

  const KernelRegistry& kernels_;
  TestMachine& machine_;
  bool take_inputs_ = false;
  ResourceManager resources_;
  std::unordered_map<const Node*, std::unique_ptr<Kernel>> made_;
  int64_t steps_ = 0;
};

}  // namespace thalweg
