// SPDX-License-Identifier: Apache-2.0
// WaitingNodes: which asynchronous kernels of a step wait, so that a deadline can say who waits,
// and for what. WatchedKernel: puts itself on that list around another asynchronous kernel, once
// that must wait.
//
// Ownership: a node is its kernel's, until Remove; the watched kernel is owned.
// Threads: all calls from any thread.
// Errors: those of the kernel that is watched, unchanged.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/kernel/waiting_kernel.h"

namespace thalweg {

// A node that waits.
class WaitingNode {
 public:
  // "QueueDequeueV2 'next' for queue 'q' (FIFOQueue, 0 elements)".
  virtual std::string Text() const = 0;

 protected:
  ~WaitingNode() = default;
};

class WaitingNodes {
 public:
  // A node must live until Remove.
  void Add(const WaitingNode* node) EXCLUDES(mutex_);
  void Remove(const WaitingNode* node) EXCLUDES(mutex_);
  // "_Recv 'a/recv', QueueDequeueV2 'next' for queue 'q' (...) and 3 more"; "" when none.
  std::string Names() const EXCLUDES(mutex_);
  // Each of them, sorted; `events`: calls of Add and Remove so far.
  std::vector<std::string> All(uint64_t* events) const EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::unordered_set<const WaitingNode*> nodes_ GUARDED_BY(mutex_);
  uint64_t events_ GUARDED_BY(mutex_) = 0;
};

// The step context of a local step.
struct WatchedStepContext : StepContext {
  WaitingNodes* waiting = nullptr;
  int call_depth = 0;  // of functions that are called while the step runs, inside each other
};

// Runs in steps whose contexts are WatchedStepContexts.
class WatchedKernel : public WaitingKernel, private DoneSink {
 public:
  // `kernel` must be asynchronous; `label` is what a message calls the node.
  WatchedKernel(std::unique_ptr<Kernel> kernel, std::string label)
      : kernel_(std::move(kernel)),
        tried_first_(dynamic_cast<WaitingKernel*>(kernel_.get())),
        label_(std::move(label)) {}
  std::optional<Status> TryCompute(Context& ctx) override;
  std::optional<Status> TryRepeated(Context& ctx) override;
  void Wait(Context& ctx, Done done) override;
  std::string WaitsFor(Context& ctx) const override;

 private:
  struct Call;
  void OnDone(uint64_t token, Status status) override;

  const std::unique_ptr<Kernel> kernel_;
  WaitingKernel* const tried_first_;  // kernel_, or null
  const std::string label_;
};

}  // namespace thalweg
