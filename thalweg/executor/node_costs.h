// SPDX-License-Identifier: Apache-2.0
// NodeCosts: what the nodes of a program took in traced steps, and whether that contradicts the
// estimates by which they were told heavy or cheap.
//
//   NodeCosts costs(program.nodes.size());
//   costs.Add(trace.TakeRecords());                  // of one step; several steps
//   if (costs.Contradict(program)) costs.Correct(&program);
//
// Ownership: a value of numbers; `program` is the caller's.
// Threads: one at a time.
// Errors: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/executor/program.h"
#include "thalweg/executor/step_trace.h"

namespace thalweg {

class NodeCosts {
 public:
  explicit NodeCosts(size_t nodes) : micros_(nodes, kNever), calls_(nodes) {}

  // Where not all calls were recorded: how many there were, by node.
  void Add(const std::vector<NodeRecord>& records, std::span<const int64_t> calls = {});
  // A node is far on the other side of the line between cheap and heavy, or the cheap ones together
  // take much longer than was thought, so that blocks should be cut. Nodes are heavy only where
  // they are a good part of the step's work: one that runs once beside a long loop of cheap ones is
  // not.
  bool Contradict(const Program& program) const;
  // The estimates of nodes that have run become what was measured.
  void Correct(Program* program) const;

 private:
  static constexpr float kNever = -1;
  bool IsWorthThreads(const Program& program) const;

  // What one call takes: the mean of a step, the least of all steps.
  std::vector<float> micros_;
  std::vector<float> calls_;  // in the last step
};

}  // namespace thalweg
