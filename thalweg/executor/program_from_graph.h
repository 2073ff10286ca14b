// SPDX-License-Identifier: Apache-2.0
// ProgramFromGraph: the program of a pruned, placed and partitioned graph.
//
//   ASSIGN_OR_RETURN(Program program, ProgramFromGraph({
//       .nodes = pruned, .feeds = feeds, .fetches = fetches, .devices = devices,
//       .kernels = &registry,
//       .device_of = [&](const Node& n) { return placement[n.id()]; },
//       .make_kernel = [&](const Node& n, Device& d) { return cache.KernelFor(n, d); }}));
//
// Feed i of the program is feeds[i], fetch i is fetches[i]. Nodes outside of `nodes` are absent:
// their values must be fed, control edges from them are dropped.
// Ownership: the program shares the kernels; graph, devices and registry outlive it. The functions
// are used during the call.
// Threads: any, while nobody changes the nodes.
// Errors: NotFound for a node without a kernel, with all that KernelRegistry says; InvalidArgument
// for an open back edge; those of `make_kernel`.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "thalweg/base/work_budget.h"
#include "thalweg/executor/program.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

struct ProgramSpec {
  std::vector<const Node*> nodes;
  std::vector<Output> feeds;
  std::vector<Output> fetches;
  std::vector<Device*> devices;
  const KernelRegistry* kernels = nullptr;
  // Index in `devices`. Null: all nodes on devices[0].
  std::function<int(const Node&)> device_of;
  // A kernel of this node; the place where kernels that keep state are shared between plans.
  std::function<Result<std::shared_ptr<Kernel>>(const Node&, Device&)> make_kernel;
  WorkBudget* work = nullptr;  // null: without end
};

Result<Program> ProgramFromGraph(const ProgramSpec& spec);

}  // namespace thalweg
