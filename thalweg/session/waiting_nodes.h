// SPDX-License-Identifier: Apache-2.0
// WaitingNodes: which asynchronous kernels of a step have begun and not ended, so that a deadline
// can say who waits. WatchedKernel: puts itself on that list around another asynchronous kernel.
//
// Threads: all calls from any thread.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>

#include "thalweg/base/mutex.h"
#include "thalweg/kernel/kernel.h"

namespace thalweg {

class WaitingNodes {
 public:
  void Add(const std::string* label) EXCLUDES(mutex_);
  void Remove(const std::string* label) EXCLUDES(mutex_);
  // "_Recv 'a/recv', QueueDequeueV2 'next' and 3 more"; "" when none.
  std::string Names() const EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::unordered_multiset<const std::string*> labels_ GUARDED_BY(mutex_);
};

// The step context of a local step.
struct WatchedStepContext : StepContext {
  WaitingNodes* waiting = nullptr;
};

// Runs in steps whose contexts are WatchedStepContexts.
class WatchedKernel : public AsyncKernel, private DoneSink {
 public:
  // `kernel` must be asynchronous; `label` is what a message calls the node.
  WatchedKernel(std::unique_ptr<Kernel> kernel, std::string label)
      : kernel_(std::move(kernel)), label_(std::move(label)) {}
  void ComputeAsync(Context& ctx, Done done) override;

 private:
  struct Call {
    WaitingNodes* waiting;
    Done done;
  };
  void OnDone(uint64_t token, Status status) override;

  const std::unique_ptr<Kernel> kernel_;
  const std::string label_;
};

}  // namespace thalweg
