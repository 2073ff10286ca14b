// SPDX-License-Identifier: Apache-2.0
// LocalRunner: the PartitionRunner of this process. All parts of a step become one program; the
// calling thread runs it and takes help from the environment's threads.
// Ownership: environment, resources and kernels outlive it, it outlives what it prepared.
// Threads: every member from any; Stop waits until nothing runs.
// Errors: those of the step, the first one wins; DeadlineExceeded with the nodes that wait,
// Cancelled after Cancel or Stop, or the reason given.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "thalweg/base/mutex.h"
#include "thalweg/session/environment.h"
#include "thalweg/session/function_plans.h"
#include "thalweg/session/kernel_cache.h"
#include "thalweg/session/partition_runner.h"

namespace thalweg {

struct LocalStep;
class BoundFunctions;

class LocalRunner : public PartitionRunner, private StepSource {
 public:
  // All outlive the runner, which outlives what it prepared. `has_peers`: what it runs may be parts
  // of steps that other tasks run, too.
  // `expand` makes the graph of a function that a step calls.
  using Expander = std::function<Result<StepGraph>(const RuntimeCall& call)>;
  LocalRunner(Environment& environment, ResourceManager& resources, KernelCache& kernels,
              bool has_peers, Expander expand);
  ~LocalRunner() override;

  Result<std::unique_ptr<PreparedStep>> Prepare(const PrepareRequest& request) override;
  void Cancel(Status reason) override EXCLUDES(mutex_);
  void Stop(Status reason) override EXCLUDES(mutex_);
  // Functions are compiled anew from now on.
  void ForgetFunctions() { functions_.Clear(); }

 private:
  friend class LocalPreparedStep;
  friend class BoundFunctions;
  friend class LocalFunction;
  friend struct LocalStep;
  // Every step that exists is in the list, whether it runs or waits to be used again.
  void Add(LocalStep* step) EXCLUDES(mutex_);
  void Remove(LocalStep* step) EXCLUDES(mutex_);
  // Around a run of the step; without a lock unless the runner stops. Begin: the error of Cancel()
  // once that was called.
  Status Begin(LocalStep* step) EXCLUDES(mutex_);
  void End(LocalStep* step) EXCLUDES(mutex_);
  void AppendOpenSteps(std::vector<OpenStep>* steps) override EXCLUDES(mutex_);
  void AwaitPins(LocalStep* step) REQUIRES(mutex_);
  bool AnyRuns() const REQUIRES(mutex_);
  // Functions that the step, whose nodes name some, calls while it runs or later.
  void OfferFunctions(LocalStep& step);
  Result<std::shared_ptr<FunctionPlan>> MakeFunction(const RuntimeCall& call, Device& device);

  Environment& environment_;
  ResourceManager& resources_;
  KernelCache& kernels_;
  const bool has_peers_;
  const Expander expand_;
  FunctionPlans functions_;
  const RefPtr<BoundFunctions> bound_functions_;
  // Set before Cancel() looks who runs; a step says that it runs before it looks here. So one of
  // the two sees the other.
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  CondVar changed_;
  LocalStep* steps_ GUARDED_BY(mutex_) = nullptr;  // a list
  Status stopped_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
