// SPDX-License-Identifier: Apache-2.0
// LocalStep: what a step, or a call of a function outside of any step, needs while it runs, beside
// the executor's own state. The runner lists it as long as it exists.
// Ownership: owned by who runs it; runner, environment and nodes outlive it.
// Threads: one at a time, except Running().
// Errors: none; a step's own go to who runs it.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "thalweg/executor/executor.h"
#include "thalweg/kernel/kernel_execution.h"
#include "thalweg/kernel/local_rendezvous.h"
#include "thalweg/session/environment.h"
#include "thalweg/session/local_runner.h"
#include "thalweg/session/waiting_nodes.h"

namespace thalweg {

// What a running step needs beside the executor's own state. Used again by later steps when it
// ended well.
struct LocalStep {
  LocalStep(LocalRunner& owner, Environment& environment, const std::vector<Device*>& devices,
            const std::vector<const Node*>& of_program)
      : runner(owner),
        nodes(of_program),
        work(environment.isa(), &environment.queue(), *environment.allocator(), &cancellation),
        contexts(devices.size()) {
    for (size_t i = 0; i < devices.size(); ++i) {
      contexts[i].device = devices[i];
      contexts[i].allocator = &devices[i]->allocator();
      contexts[i].host_addressable = devices[i]->host_addressable();
      contexts[i].work = &work;
      contexts[i].cancellation = &cancellation;
      contexts[i].rendezvous = &rendezvous;
      contexts[i].step_resources = &step_resources;
      contexts[i].waiting = &waiting;
      pointers.push_back(&contexts[i]);
    }
    runner.Add(this);
  }
  LocalStep(const LocalStep&) = delete;
  LocalStep& operator=(const LocalStep&) = delete;
  ~LocalStep() { runner.Remove(this); }
  // The nodes whose kernels run, each once.
  std::vector<std::string> Running() const {
    std::set<std::string> names;
    for (const uint32_t node : called.List()) names.insert(nodes[node]->Label());
    return {names.begin(), names.end()};
  }

  LocalRunner& runner;
  const std::vector<const Node*>& nodes;  // by number in the program
  CalledNodes called;
  std::atomic<bool> running{false};
  std::atomic<int64_t> id{0};
  LocalStep* before = nullptr;  // in the runner's list, under its lock
  LocalStep* after = nullptr;
  int pins = 0;               // under its lock
  bool told_to_stop = false;  // under its lock
  CancellationManager cancellation;
  LocalRendezvous rendezvous;
  ResourceManager step_resources;
  WaitingNodes waiting;
  StepTasks tasks;
  KernelExecution work;
  std::vector<WatchedStepContext> contexts;  // one for each part
  std::vector<StepContext*> pointers;
  std::vector<Tensor> feeds;  // of the program, where they are not the signature's
};

}  // namespace thalweg
