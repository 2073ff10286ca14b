// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "thalweg/base/first_error.h"
#include "thalweg/base/no_destructor.h"
#include "thalweg/base/thread.h"
#include "thalweg/kernel/hardware.h"
#include "thalweg/kernel/host_call.h"
#include "thalweg/session/mapping_session.h"
#include "thalweg/session/partial_run.h"
#include "thalweg/session/session.h"
#include "thalweg/session/session_core.h"

namespace thalweg {
namespace {

class LocalCallable : public Callable {
 public:
  LocalCallable(std::shared_ptr<SessionCore> core, std::shared_ptr<StepPlan> plan,
                const RunOptions& options)
      : core_(std::move(core)), options_(options), current_(plan.get()) {
    plans_.push_back(std::move(plan));
  }

  Status Run(std::span<const Tensor> feeds, std::span<Tensor> fetches,
             RunMetadata* metadata) override {
    return RunCurrent(options_, feeds, fetches, metadata);
  }
  Status Run(const RunOptions& options, std::span<const Tensor> feeds, std::span<Tensor> fetches,
             RunMetadata* metadata) override {
    RETURN_IF_ERROR(core_->Check(options));
    return RunCurrent(options, feeds, fetches, metadata);
  }

 private:
  // With options that were checked.
  Status RunCurrent(const RunOptions& options, std::span<const Tensor> feeds,
                    std::span<Tensor> fetches, RunMetadata* metadata) {
    if (options.check_numerics) return RunChecked(options, feeds, fetches, metadata);
    StepPlan* plan = current_.load(std::memory_order_acquire);
    std::chrono::nanoseconds spent{0};
    if (core_->IsStale(*plan)) {
      ASSIGN_OR_RETURN(plan, Renew(options, &spent));
    }
    return core_->RunPlan(*plan, options, feeds, fetches, metadata, spent);
  }

  // By the session's plan for such runs.
  Status RunChecked(const RunOptions& options, std::span<const Tensor> feeds,
                    std::span<Tensor> fetches, RunMetadata* metadata) {
    ASSIGN_OR_RETURN(const PreparedPlan made,
                     core_->GetPlan(current_.load(std::memory_order_acquire)->signature, options));
    return core_->RunPlan(*made.plan, options, feeds, fetches, metadata, made.spent);
  }

  // Containers were emptied, and the plan's kernels may hold what is gone, or costs are known
  // better.
  Result<StepPlan*> Renew(const RunOptions& options, std::chrono::nanoseconds* spent) {
    ASSIGN_OR_RETURN(PreparedPlan made,
                     core_->GetPlan(current_.load(std::memory_order_acquire)->signature, options));
    *spent = made.spent;
    StepPlan* const raw = made.plan.get();
    MutexLock lock(mutex_);
    plans_.push_back(std::move(made.plan));
    current_.store(raw, std::memory_order_release);
    return raw;
  }

  const std::shared_ptr<SessionCore> core_;
  const RunOptions options_;
  std::atomic<StepPlan*> current_;
  Mutex mutex_;
  // All that were ever current: other threads may still run them.
  std::vector<std::shared_ptr<StepPlan>> plans_ GUARDED_BY(mutex_);
};

class LocalSession : public Session {
 public:
  explicit LocalSession(std::shared_ptr<SessionCore> core) : core_(std::move(core)) {}
  ~LocalSession() override { LocalSession::Close(); }

  const std::shared_ptr<Graph>& graph() const override { return core_->graph(); }
  Environment& environment() const override { return core_->environment(); }

  Status Run(const RunOptions& options, std::span<const NamedTensor> feeds,
             std::span<const std::string> fetches, std::span<const std::string> targets,
             std::vector<Tensor>* outputs, RunMetadata* metadata) override {
    const std::shared_ptr<SessionCore> core = core_;  // a function of the step may free the session
    RETURN_IF_ERROR(core->Check(options));
    ASSIGN_OR_RETURN(const PreparedPlan made,
                     core->GetPlan(NamedSignature{feeds, fetches, targets}, options));
    std::vector<Tensor> values;
    values.reserve(feeds.size());
    for (const auto& [name, value] : feeds) values.push_back(value);
    std::vector<Tensor> fetched(fetches.size());
    RETURN_IF_ERROR(core->RunPlan(*made.plan, options, values, fetched, metadata, made.spent));
    if (outputs != nullptr) *outputs = std::move(fetched);
    return OkStatus();
  }

  Status Run(const RunOptions& options, const Signature& signature, std::span<const Tensor> values,
             std::span<Tensor> fetches, RunMetadata* metadata) override {
    const std::shared_ptr<SessionCore> core = core_;  // as above
    RETURN_IF_ERROR(core->Check(options));
    ASSIGN_OR_RETURN(const PreparedPlan made, core->GetPlan(signature, options));
    return core->RunPlan(*made.plan, options, values, fetches, metadata, made.spent);
  }

  Result<std::shared_ptr<Callable>> MakeCallable(const Signature& signature,
                                                 const RunOptions& options,
                                                 const RunOptions* within) override {
    RETURN_IF_ERROR(core_->Check(options));
    RunOptions compiling = within == nullptr ? options : *within;
    compiling.check_numerics = false;  // which each run asks for
    ASSIGN_OR_RETURN(PreparedPlan made, core_->GetPlan(signature, compiling));
    return std::shared_ptr<Callable>(
        std::make_shared<LocalCallable>(core_, std::move(made.plan), options));
  }

  Result<std::string> PartialRunSetup(std::span<const std::string> feeds,
                                      std::span<const std::string> fetches,
                                      std::span<const std::string> targets,
                                      const RunOptions& options) override {
    RETURN_IF_ERROR(core_->Check(options));
    ASSIGN_OR_RETURN(std::shared_ptr<thalweg::PartialRun> run,
                     thalweg::PartialRun::Start(*core_, feeds, fetches, targets, options));
    MutexLock lock(mutex_);
    if (closed_) return Cancelled("Session has been closed.");
    std::string handle = StrCat("partial_run_", ++partial_runs_made_);
    partial_runs_->emplace(handle, std::move(run));
    return handle;
  }

  Status PartialRun(const std::string& handle, std::span<const NamedTensor> feeds,
                    std::span<const std::string> fetches, std::vector<Tensor>* outputs) override {
    std::shared_ptr<thalweg::PartialRun> run;
    {
      MutexLock lock(mutex_);
      if (closed_) return Cancelled("Session has been closed.");
      const auto found = partial_runs_->find(handle);
      if (found == partial_runs_->end()) {
        return InvalidArgument("no partial run has the handle '", handle,
                               "': it was never set up, or is over");
      }
      run = found->second;
    }
    RETURN_IF_ERROR(run->CheckProcess());
    Status status = run->Continue(feeds, fetches, outputs);
    if (!run->IsOver()) return status;
    {
      MutexLock lock(mutex_);
      if (partial_runs_->erase(handle) == 0) return status;  // another call ends it
    }
    KeepFirstError(run->Join(), &status);
    return status;
  }

  void EndPartialRun(const std::string& handle) override {
    if (!owner_.IsThisProcess()) return;  // it stays, as in Close()
    std::shared_ptr<thalweg::PartialRun> run;
    {
      MutexLock lock(mutex_);
      const auto found = partial_runs_->find(handle);
      if (found == partial_runs_->end()) return;
      run = std::move(found->second);
      partial_runs_->erase(found);
    }
    run->Cancel(Cancelled("the partial run was given up"));
  }

  Result<std::vector<DeviceDescription>> ListDevices() override {
    std::vector<DeviceDescription> devices;
    for (Device* const device : core_->devices()) devices.push_back(DescribeDevice(*device));
    return devices;
  }

  Result<std::string> ExplainPlacement(std::string_view name) override {
    const Node* node = core_->graph()->FindNode(name);
    if (node == nullptr) return NotFound("no node named '", name, "' in the graph");
    ASSIGN_OR_RETURN(const PlacementExplanation why,
                     core_->placer().Explain(*core_->graph(), *node));
    return why.Text();
  }

  Result<StepMemory> PlanMemory(const Signature& signature,
                                std::span<const Tensor> feeds) override {
    ASSIGN_OR_RETURN(const PreparedPlan made, core_->GetPlan(signature, {}));
    RETURN_IF_ERROR(made.plan->CheckFeeds(feeds));
    return made.plan->prepared->PlanMemory(feeds);
  }

  Result<std::string> DescribePlan(std::span<const std::string> feeds,
                                   std::span<const std::string> fetches,
                                   std::span<const std::string> targets) override {
    std::vector<NamedTensor> named;
    for (const std::string& feed : feeds) named.emplace_back(feed, Tensor());
    return core_->DescribePlan(NamedSignature{named, fetches, targets});
  }

  void ResetContainers(const std::vector<std::string>& containers) override {
    core_->ResetContainers(containers);
  }

  void Close() override {
    if (!owner_.IsThisProcess()) {
      // In a fork the core stays, and so do partial runs: they would wait for steps of threads that
      // are not here.
      new std::shared_ptr<SessionCore>(core_);
      return;
    }
    PartialRuns ended;
    {
      MutexLock lock(mutex_);
      closed_ = true;
      ended.swap(*partial_runs_);
    }
    for (auto& [handle, run] : ended) run->Cancel(Cancelled("Session has been closed."));
    core_->Cancel();
    if (!HostCall::IsAnywhere()) return core_->Close();
    // A function that a step of this session has called may be what closes it, or wait for the
    // thread that does; the step ends after it.
    Thread::Detach("close", [core = core_, runs = std::move(ended)] { core->Close(); });
  }

 private:
  using PartialRuns = std::unordered_map<std::string, std::shared_ptr<thalweg::PartialRun>>;

  const std::shared_ptr<SessionCore> core_;
  const ThreadOwner owner_;
  Mutex mutex_;
  bool closed_ GUARDED_BY(mutex_) = false;
  int64_t partial_runs_made_ GUARDED_BY(mutex_) = 0;
  NoDestructor<PartialRuns> partial_runs_ GUARDED_BY(mutex_);  // Close() empties it
};

}  // namespace

DeviceDescription DescribeDevice(Device& device) {
  return {.name = device.full_name(),
          .type = device.type(),
          .memory_limit = device.allocator().Stats().limit,
          .incarnation = device.incarnation(),
          .hardware = HardwareOf(device)};
}

Status Callable::Repeat(RunOptions options, std::chrono::nanoseconds time) {
  options.is_repeated = true;
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    RETURN_IF_ERROR(Run(options, {}, {}));
  } while (std::chrono::steady_clock::now() < end);
  return OkStatus();
}

Result<StepMemory> Session::PlanMemory(const Signature&, std::span<const Tensor>) {
  return Unimplemented("the memory of a step is planned where it runs");
}

Result<std::unique_ptr<Session>> MakeLocalSession(std::shared_ptr<Environment> environment,
                                                  std::shared_ptr<Graph> graph,
                                                  SessionOptions options) {
  return MakeMappingSession(std::move(environment), std::move(graph), std::move(options), nullptr);
}

Result<std::unique_ptr<Session>> MakeMappingSession(std::shared_ptr<Environment> environment,
                                                    std::shared_ptr<Graph> graph,
                                                    SessionOptions options,
                                                    std::shared_ptr<MappedFiles> files) {
  RETURN_IF_ERROR(options.Validate());
  if (environment == nullptr || graph == nullptr) {
    return InvalidArgument("a session needs an environment and a graph");
  }
  // State that sessions share was lost with its device: they keep it, and hear that.
  if (!options.share_resources) environment = Environment::WithDevicesAnew(environment);
  if (const size_t devices = environment->devices().size();
      options.machine != nullptr && options.machine->num_devices() != static_cast<int>(devices)) {
    return InvalidArgument("SessionOptions: the machine has ", options.machine->num_devices(),
                           " devices, the session ", devices);
  }
  auto core = std::make_shared<SessionCore>(std::move(environment), std::move(graph), options);
  if (files != nullptr) RETURN_IF_ERROR(core->MapCheckpoints(std::move(files)));
  return MakeSession(std::move(core));
}

std::unique_ptr<Session> MakeSession(std::shared_ptr<SessionCore> core) {
  return std::make_unique<LocalSession>(std::move(core));
}

}  // namespace thalweg
