// SPDX-License-Identifier: Apache-2.0
// SessionCore: what a local session and its callables share: the compiler, the plans, the state.
//
//   ASSIGN_OR_RETURN(PreparedPlan plan, core.GetPlan(signature, options));
//   return core.RunPlan(*plan.plan, options, values, fetches, metadata, plan.spent);
//
// Ownership: shares environment and graph, owns plans, kernels and its own resources; plans that
// run are kept by who runs them.
// Threads: every member from any thread. One plan is compiled at a time, without a lock; who waits
// for his turn, or compiles, stops at his deadline, his cancellation and Close().
// Errors: those of session.h; Cancelled once it is closed, FailedPrecondition for a graph that grew
// under strict_graph, and for a compilation inside of one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <type_traits>

#include "thalweg/placement/measured_rates.h"
#include "thalweg/session/host_evaluator.h"
#include "thalweg/session/kernel_cache.h"
#include "thalweg/session/local_runner.h"
#include "thalweg/session/plan_cache.h"

namespace thalweg {

class MappedFiles;

// What a session has beside its own process: devices of other tasks, and who runs their parts.
struct RemoteParts {
  std::vector<std::unique_ptr<Device>> devices;
  // Of each device, where its task has told them; null: those of this process.
  std::vector<std::shared_ptr<const KernelRegistry>> kernels;
  // `local` runs the parts of this process and outlives what is made.
  std::function<std::unique_ptr<PartitionRunner>(PartitionRunner& local)> make_runner;
  // Where variables, queues and tables are kept that several cores share; null: as the options say.
  std::shared_ptr<ResourceManager> state;
  // Of the devices and of the links between tasks, where nodes are placed by cost.
  MeasuredRates rates;
  // What is run are parts of steps of other tasks' masters.
  bool is_worker = false;
  // Values from other tasks are asked for shortly before they are needed, not when a step begins.
  bool schedule_receives = false;
};

// Whether a session with these options does, and wants to know what devices and links can do.
bool PlacesByCost(const SessionOptions& options);

// A plan, and the time of the caller's that was spent on it: zero from the cache.
struct PreparedPlan {
  std::shared_ptr<StepPlan> plan;
  std::chrono::nanoseconds spent{0};
};

class SessionCore {
 public:
  SessionCore(std::shared_ptr<Environment> environment, std::shared_ptr<Graph> graph,
              SessionOptions options, RemoteParts remote = {});
  ~SessionCore();

  // Restores map large tensors from now on, and a step ends with DataLoss where such a file has
  // changed. Before the first step.
  Status MapCheckpoints(std::shared_ptr<MappedFiles> files);

  Environment& environment() const { return *environment_; }
  const std::shared_ptr<Graph>& graph() const { return graph_; }
  // The devices of this process come first.
  const std::vector<Device*>& devices() const { return devices_; }
  Placer& placer() { return placer_; }

  // From the cache, or compiled, within the timeout of the options and until their cancellation.
  Result<PreparedPlan> GetPlan(const Signature& signature, const RunOptions& options)
      EXCLUDES(mutex_);
  Result<PreparedPlan> GetPlan(const NamedSignature& names, const RunOptions& options)
      EXCLUDES(mutex_);
  Result<PreparedPlan> CompilePartial(const Signature& signature, const RunOptions& options)
      EXCLUDES(mutex_);
  Result<std::string> DescribePlan(const NamedSignature& names) EXCLUDES(mutex_);
  // InvalidArgument that says which feed, fetch or target has no such name.
  Result<Signature> Resolve(const NamedSignature& names) const;

  Status RunPlan(const StepPlan& plan, const RunOptions& options, std::span<const Tensor> values,
                 std::span<Tensor> fetches, RunMetadata* metadata, std::chrono::nanoseconds spent);
  // An error where a run here may not have these options.
  Status Check(const RunOptions& options) const;
  // A request with the options' and the session's settings filled in.
  StepRequest MakeRequest(const RunOptions& options, std::chrono::nanoseconds spent);

  // Changes when kernels made before may hold resources that are gone.
  uint64_t reset_count() const {
    return environment_->reset_count() + own_resets_.load(std::memory_order_acquire);
  }
  // Whether a new plan is to take its place.
  bool IsStale(const StepPlan& plan) const {
    return plan.reset_count != reset_count() ||
           plan.costs_version != costs_version_.load(std::memory_order_acquire);
  }
  void ResetContainers(const std::vector<std::string>& containers);
  // Cancels all steps and compilations. Later Runs are Cancelled.
  void Cancel();
  // Cancel(), waits for their end, drops plans and state.
  void Close() EXCLUDES(mutex_);

 private:
  ResourceManager& resources() {
    if (remote_.state != nullptr) return *remote_.state;
    return options_.share_resources ? environment_->resources() : own_resources_;
  }
  // Compiles with the turn taken; what it makes is in no cache yet.
  template <class F>
  std::invoke_result_t<F&, WorkBudget&> InTurn(const RunOptions& options,
                                               std::chrono::nanoseconds* spent, F compile)
      EXCLUDES(mutex_);
  // In the cache; null where it is not, or is stale.
  template <class Key>
  std::shared_ptr<StepPlan> FindPlan(PlanCache& plans, const Key& key);
  Status TakeTurn(WorkBudget& work) EXCLUDES(mutex_);
  void GiveTurn() EXCLUDES(mutex_);
  std::chrono::nanoseconds TimeoutOf(const RunOptions& options) const {
    return options.timeout.count() > 0 ? options.timeout : options_.default_timeout;
  }
  Status CopyMapped(std::span<Tensor> fetches);
  Status RunStep(const StepPlan& plan, const RunOptions& options, std::span<const Tensor> values,
                 std::span<Tensor> fetches, RunMetadata* metadata, std::chrono::nanoseconds spent);
  // How signatures become plans.
  struct Planning {
    StepCompiler compiler;
    PlanCache plans;
  };
  Planning& PlanningFor(const RunOptions& options) {
    return options.check_numerics ? checked_ : usual_;
  }
  StepCompiler::Options CompilerOptions(std::string_view passes, bool log_placement) const;
  Result<StepGraph> ExpandCall(const RuntimeCall& call) EXCLUDES(mutex_);
  void ForgetPlans() {
    usual_.plans.Clear();
    checked_.plans.Clear();
  }
  void ForgetStaleKernels() REQUIRES(mutex_);
  Status CheckGrowth() REQUIRES(mutex_);
  // Keeps what the nodes of a traced step took, for later placements by cost.
  void NoteCosts(const StepStats& stats);
  const Node* FirstOfProgram(int begin, int end) const;

  const std::shared_ptr<Environment> environment_;
  const std::shared_ptr<Graph> graph_;
  const SessionOptions options_;
  std::shared_ptr<MappedFiles> mapped_files_;  // null: nothing is mapped
  const RemoteParts remote_;
  const std::vector<Device*> devices_;
  std::atomic<int64_t> next_step_id_{1};
  std::atomic<uint64_t> own_resets_{0};
  ResourceManager own_resources_;
  KernelCache kernels_;
  LocalRunner local_runner_;
  const std::unique_ptr<PartitionRunner> remote_runner_;  // null: all is local
  PartitionRunner& runner_;
  const PlacementMethod placement_method_;
  MeasuredCosts measured_;
  std::atomic<uint64_t> traced_steps_{0};   // whose costs are kept
  std::atomic<uint64_t> costs_version_{0};  // that plans are to be made with
  ConstraintPlacer placer_;
  HostEvaluator evaluator_;
  Planning usual_;
  Planning checked_;             // of RunOptions::check_numerics
  CancellationManager closing_;  // of compilations
  Mutex mutex_;
  CondVar changed_;
  bool compiling_ GUARDED_BY(mutex_) = false;  // somebody has the turn:
  std::thread::id compiler_thread_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  uint64_t kernels_reset_count_ GUARDED_BY(mutex_) = 0;
  int nodes_at_first_run_ GUARDED_BY(mutex_) = -1;
  int nodes_at_last_run_ GUARDED_BY(mutex_) = -1;
  int growths_ GUARDED_BY(mutex_) = 0;  // by the program's own nodes, between runs, so far
};

// The session of a core.
std::unique_ptr<Session> MakeSession(std::shared_ptr<SessionCore> core);

}  // namespace thalweg
