// SPDX-License-Identifier: Apache-2.0
// SessionCore: what a local session and its callables share: the compiler, the plans, the state.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<StepPlan> plan, core.GetPlan(signature));
//   return core.RunPlan(*plan, options, values, fetches, metadata);
//
// Threads: every member from any thread. One plan is compiled at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include "thalweg/session/host_evaluator.h"
#include "thalweg/session/kernel_cache.h"
#include "thalweg/session/local_runner.h"
#include "thalweg/session/plan_cache.h"

namespace thalweg {

// What a session has beside its own process: devices of other tasks, and who runs their parts.
struct RemoteParts {
  std::vector<std::unique_ptr<Device>> devices;
  // `local` runs the parts of this process and outlives what is made.
  std::function<std::unique_ptr<PartitionRunner>(PartitionRunner& local)> make_runner;
  // Where variables, queues and tables are kept that several cores share; null: as the options say.
  std::shared_ptr<ResourceManager> state;
  // What is run are parts of steps of other tasks' masters.
  bool is_worker = false;
  // Values from other tasks are asked for shortly before they are needed, not when a step begins.
  bool schedule_receives = false;
};

class SessionCore {
 public:
  SessionCore(std::shared_ptr<Environment> environment, std::shared_ptr<Graph> graph,
              SessionOptions options, RemoteParts remote = {});
  ~SessionCore();

  Environment& environment() const { return *environment_; }
  const std::shared_ptr<Graph>& graph() const { return graph_; }
  // Those of this process first.
  const std::vector<Device*>& devices() const { return devices_; }
  Placer& placer() { return placer_; }

  // From the cache, or compiled.
  Result<std::shared_ptr<StepPlan>> GetPlan(const Signature& signature) EXCLUDES(mutex_);
  Result<std::shared_ptr<StepPlan>> GetPlan(const NamedSignature& names) EXCLUDES(mutex_);
  Result<std::shared_ptr<StepPlan>> CompilePartial(const Signature& signature) EXCLUDES(mutex_);
  Result<std::string> DescribePlan(const NamedSignature& names) EXCLUDES(mutex_);
  // InvalidArgument that says which feed, fetch or target has no such name.
  Result<Signature> Resolve(const NamedSignature& names) const;

  Status RunPlan(const StepPlan& plan, const RunOptions& options, std::span<const Tensor> values,
                 std::span<Tensor> fetches, RunMetadata* metadata);
  // A request with the options' and the session's settings filled in.
  StepRequest MakeRequest(const RunOptions& options);

  // Changes when kernels made before may hold resources that are gone.
  uint64_t reset_count() const {
    return environment_->reset_count() + own_resets_.load(std::memory_order_acquire);
  }
  void ResetContainers(const std::vector<std::string>& containers);
  // Ends all steps, waits for them, drops plans and state. Later Runs are Cancelled.
  void Close() EXCLUDES(mutex_);

 private:
  ResourceManager& resources() {
    if (remote_.state != nullptr) return *remote_.state;
    return options_.share_resources ? environment_->resources() : own_resources_;
  }
  void ForgetStaleKernels() REQUIRES(mutex_);
  Status CheckGrowth() REQUIRES(mutex_);

  const std::shared_ptr<Environment> environment_;
  const std::shared_ptr<Graph> graph_;
  const SessionOptions options_;
  const RemoteParts remote_;
  const std::vector<Device*> devices_;
  std::atomic<int64_t> next_step_id_{1};
  std::atomic<uint64_t> own_resets_{0};
  ResourceManager own_resources_;
  KernelCache kernels_;
  LocalRunner local_runner_;
  const std::unique_ptr<PartitionRunner> remote_runner_;  // null: all is local
  PartitionRunner& runner_;
  ConstraintPlacer placer_;
  HostEvaluator evaluator_;
  StepCompiler compiler_;
  PlanCache plans_;
  Mutex mutex_;  // held while a plan is compiled
  bool closed_ GUARDED_BY(mutex_) = false;
  uint64_t kernels_reset_count_ GUARDED_BY(mutex_) = 0;
  int nodes_at_first_run_ GUARDED_BY(mutex_) = -1;
  int nodes_at_last_run_ GUARDED_BY(mutex_) = -1;
  int growths_ GUARDED_BY(mutex_) = 0;  // between runs, so far
};

// The session of a core.
std::unique_ptr<Session> MakeSession(std::shared_ptr<SessionCore> core);

}  // namespace thalweg
