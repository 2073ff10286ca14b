// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/local_runner.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <unordered_map>

#include "thalweg/executor/measured_executor.h"
#include "thalweg/executor/plan_text.h"
#include "thalweg/executor/program_from_graph.h"
#include "thalweg/passes/place_copies.h"
#include "thalweg/session/bound_functions.h"
#include "thalweg/session/collective_members.h"
#include "thalweg/session/left_out.h"
#include "thalweg/session/local_step.h"
#include "thalweg/session/output_bytes.h"
#include "thalweg/session/run_metadata_message.h"
#include "thalweg/session/traced_memory.h"
#include "thalweg/session/traced_switches.h"

namespace thalweg {

namespace {

// Ends a step when its deadline passes or somebody outside cancels it.
class StepGuard {
 public:
  StepGuard(Environment& environment, LocalStep& step, const StepRequest& request)
      : environment_(environment),
        step_(step),
        outside_(request.cancellation,
                 [this](const Status& reason) { step_.cancellation.Cancel(reason); }) {
    if (request.timeout.count() > 0) {
      given_ = request.timeout + request.spent;
      entry_ = environment_.timer().Add(Deadline::After(environment_.clock(), request.timeout),
                                        [this] { TimeOut(); });
    }
  }
  StepGuard(const StepGuard&) = delete;
  StepGuard& operator=(const StepGuard&) = delete;
  ~StepGuard() {
    if (entry_.id != 0) environment_.timer().Remove(entry_);
  }

 private:
  void TimeOut() {
    const std::string waiting = step_.waiting.Names();
    step_.cancellation.Cancel(DeadlineExceeded(
        "the step did not end within ", std::chrono::duration<double, std::milli>(given_).count(),
        " ms; ", waiting.empty() ? "no node waits: it was still computing" : "waiting: ", waiting,
        waiting.empty() ? Computing() : ""));
  }

  std::string Computing() const {
    std::string names;
    for (const std::string& name : step_.Running())
      names += StrCat(names.empty() ? " " : ", ", name);
    return names;
  }

  Environment& environment_;
  LocalStep& step_;
  ScopedCancellation outside_;
  std::chrono::nanoseconds given_{0};
  Timer::Entry entry_;
};

// The parts with the copies that their devices' memory asks for; null where the host addresses all
// of it, and the parts are what runs.
Result<std::unique_ptr<const std::vector<StepPartition>>> WithCopies(
    const Environment& environment, const std::vector<StepPartition>& parts) {
  const auto device_of = [&](const StepPartition& part) -> Device& {
    return *environment.devices()[part.device];
  };
  if (std::ranges::all_of(parts, [&](const auto& p) { return device_of(p).host_addressable(); })) {
    return std::unique_ptr<const std::vector<StepPartition>>();
  }
  std::vector<Device*> devices;
  for (const auto& device : environment.devices()) devices.push_back(device.get());
  ASSIGN_OR_RETURN(const PeerEdges peers, FindPeerEdges(parts, devices, environment.kernels()));
  auto placed = std::make_unique<std::vector<StepPartition>>(parts);
  for (StepPartition& part : *placed) {
    ASSIGN_OR_RETURN(part.step,
                     PlaceCopies(part.step, device_of(part), environment.kernels(), peers));
    part.step.work = nullptr;  // the caller's
  }
  return std::unique_ptr<const std::vector<StepPartition>>(std::move(placed));
}

}  // namespace

class LocalPreparedStep : public PreparedStep {
 public:
  // `placed`: parts of its own, which `parts` then are; may be null.
  LocalPreparedStep(LocalRunner& runner, const std::vector<StepPartition>& parts,
                    std::unique_ptr<const std::vector<StepPartition>> placed,
                    std::vector<Device*> devices, std::vector<const Node*> nodes,
                    std::unique_ptr<Executor> executor, std::vector<int> feed_from,
                    bool feeds_in_order, std::unique_ptr<const LocalCollectives> local_collectives)
      : runner_(runner),
        environment_(runner.environment_),
        placed_(std::move(placed)),
        parts_(parts),
        devices_(std::move(devices)),
        nodes_(std::move(nodes)),
        executor_(std::move(executor)),
        feed_from_(std::move(feed_from)),
        feeds_in_order_(feeds_in_order),
        local_collectives_(std::move(local_collectives)),
        leaves_resources_(std::any_of(nodes_.begin(), nodes_.end(),
                                      [](const Node* node) { return node->op().def.is_stateful; })),
        calls_functions_(NamesFunctions(nodes_)) {}
  ~LocalPreparedStep() override { delete spare_.load(std::memory_order_acquire); }

  Status Run(const StepRequest& request) override {
    std::unique_ptr<LocalStep> step = TakeStep();
    RETURN_IF_ERROR(runner_.Begin(step.get()));
    Status status = RunBegun(*step, request);
    runner_.End(step.get());
    Recycle(std::move(step), status.ok());
    return status;
  }

  void RunAsync(const StepRequest& request, std::function<void(Status)> done) override {
    struct Open {
      std::unique_ptr<LocalStep> step;
      std::optional<StepGuard> guard;
      std::function<void(Status)> done;
    };
    auto open = std::make_shared<Open>();
    open->step = TakeStep();
    open->done = std::move(done);
    if (Status begun = runner_.Begin(open->step.get()); !begun.ok()) return open->done(begun);
    Executor::Step run = Arrange(*open->step, request);
    run.queue = &environment_.background();
    run.idle = nullptr;
    open->guard.emplace(environment_, *open->step, request);
    executor_->RunAsync(run, [this, open](Status status) {
      open->guard.reset();
      runner_.End(open->step.get());
      Recycle(std::move(open->step), status.ok());
      open->done(std::move(status));
    });
  }

  Result<StepMemory> PlanMemory(std::span<const Tensor> feeds) const override {
    std::unordered_map<const Node*, std::vector<int64_t>> sizes;
    for (const StepPartition& part : parts_) {
      RETURN_IF_ERROR(InferOutputBytes(part.step, feeds, &sizes));
    }
    OutputBytes bytes;
    for (const Node* node : nodes_) bytes.push_back(std::move(sizes[node]));
    const MemoryPlan plan = executor_->PlanMemory(bytes);
    return StepMemory{.peak_bytes = plan.peak_bytes,
                      .peak_node = plan.peak_node < 0 ? "" : nodes_[plan.peak_node]->name(),
                      .unknown_values = plan.unknown_values};
  }

  std::string Describe() const override {
    const Result<Plan> plan =
        thalweg::Compile(executor_->program(), {.threads = environment_.queue().Parallelism()});
    return plan.ok() ? PlanText(*plan) : plan.status().ToString();
  }

 private:
  std::unique_ptr<LocalStep> TakeStep() {
    std::unique_ptr<LocalStep> step(spare_.exchange(nullptr, std::memory_order_acq_rel));
    if (step != nullptr) return step;
    return std::make_unique<LocalStep>(runner_, environment_, devices_, nodes_);
  }

  // What the executor is to run; all of it points into the step and the request.
  Executor::Step Arrange(LocalStep& step, const StepRequest& request) {
    WorkQueue* const queue = request.inline_in_caller ? nullptr : &environment_.queue();
    step.work.set_queue(queue);
    step.id.store(request.step_id, std::memory_order_relaxed);
    for (WatchedStepContext& context : step.contexts) {
      context.step_id = request.step_id;
      if (context.host_addressable && request.allocator != nullptr) {
        context.allocator = request.allocator;
      } else {
        context.allocator = &context.device->allocator();
      }
      context.queue = &environment_.queue();
      context.resources = &runner_.resources_;
      context.feeds_and_fetches = request.feeds_and_fetches;
      context.rendezvous = request.rendezvous != nullptr ? request.rendezvous : &step.rendezvous;
      context.collectives = request.collectives;
      context.local_collectives = local_collectives_.get();
    }
    if (calls_functions_) runner_.OfferFunctions(step);
    std::span<const Tensor> feeds = request.feeds;
    if (!feeds_in_order_) {
      step.feeds.clear();
      for (int from : feed_from_) step.feeds.push_back(request.feeds[from]);
      feeds = step.feeds;
    }
    return {.contexts = step.pointers,
            .feeds = feeds,
            .fetches = request.fetches,
            .queue = queue,
            .work = &step.work,
            .idle = request.idle,
            // What one step may take is not what several take.
            .is_repeated = request.is_repeated && request.timeout.count() == 0,
            .trace = nullptr,
            .frames = request.frames,
            .called = &step.called,
            .tasks = calls_functions_ ? &step.tasks : nullptr};
  }

  Status RunBegun(LocalStep& step, const StepRequest& request) {
    const Executor::Step run = Arrange(step, request);
    if (request.timeout.count() == 0 && request.cancellation == nullptr &&
        request.stats == nullptr) {
      return executor_->Run(run);
    }
    const StepGuard guard(environment_, step, request);
    return request.stats == nullptr ? executor_->Run(run) : RunTraced(run, request);
  }

  Status RunTraced(Executor::Step run, const StepRequest& request) {
    StepStats& stats = *request.stats;
    stats.step_id = request.step_id;
    StepTrace trace(&environment_.clock());
    stats.start_wall_micros = environment_.clock().WallMicros();
    stats.start_nanos = trace.ticks().begin_nanos();
    trace.TraceValues();
    trace.TraceSwitches();
    trace.KeepNewest(request.trace_bytes);
    run.trace = &trace;
    TracedMemory memory(run, trace.ticks(), request.trace_bytes);
    Status status = executor_->Run(run);
    trace.End();
    stats.end_nanos = trace.ticks().end_nanos();
    stats.traces.clear();
    for (const Device* device : devices_) stats.traces.push_back({device->full_name(), {}});
    trace.LeaveOut(memory.ForgottenUntil());
    const std::vector<NodeRecord> records = trace.TakeRecords();
    memory.Finish(records, trace.TakeValues());
    const TracedSwitches switches(trace.TakeSwitches());
    constexpr size_t kUsualNode = 192;
    const size_t expected = devices_.size() == 1 ? (records.size() + 2) * kUsualNode : 0;
    const auto& nodes = executor_->program().nodes;
    std::string fields;
    for (const NodeRecord& record : records) {
      const ProgramNode& node = nodes[record.node];
      fields.clear();
      memory.AppendFields(record, stats, &fields);
      switches.AppendFields(record, &fields);
      AppendNode({.node = node.name,
                  .op = node.op,
                  .label = {},
                  .thread = record.thread,
                  .start_nanos = record.start_nanos - stats.start_nanos,
                  .end_nanos = record.end_nanos - stats.start_nanos,
                  .fields = fields},
                 stats.start_wall_micros, stats.traces[node.device].nodes.Tail(expected));
    }
    switches.AppendMissing(stats.traces.front().nodes.Tail());
    AppendLeftOut(trace.TakeLeftOut(), executor_->program(), &stats);
    return status;
  }

  // A step that failed, or left keys in its rendezvous, is not used again.
  void Recycle(std::unique_ptr<LocalStep> step, bool ok) {
    if (!ok || devices_.size() > 1 || step->cancellation.IsCancelled()) return;
    if (leaves_resources_) step->step_resources.ResetAll();
    step->feeds.clear();
    const std::unique_ptr<LocalStep> old(
        spare_.exchange(step.release(), std::memory_order_acq_rel));
  }

  LocalRunner& runner_;
  Environment& environment_;
  const std::unique_ptr<const std::vector<StepPartition>> placed_;
  const std::vector<StepPartition>& parts_;
  const std::vector<Device*> devices_;    // by part
  const std::vector<const Node*> nodes_;  // by number in the program
  const std::unique_ptr<Executor> executor_;
  const std::vector<int> feed_from_;  // by feed of the program
  const bool feeds_in_order_;
  const std::unique_ptr<const LocalCollectives> local_collectives_;  // null: none, or all are
  const bool leaves_resources_;  // its nodes may; a lock a step is saved where they cannot
  const bool calls_functions_;
  std::atomic<LocalStep*> spare_{nullptr};
};

LocalRunner::LocalRunner(Environment& environment, ResourceManager& resources, KernelCache& kernels,
                         bool has_peers, Expander expand)
    : environment_(environment),
      resources_(resources),
      kernels_(kernels),
      has_peers_(has_peers),
      expand_(std::move(expand)),
      functions_(
          [this](const RuntimeCall& call, Device& device) { return MakeFunction(call, device); }),
      bound_functions_(
          RefPtr<BoundFunctions>::Adopt(std::make_unique<BoundFunctions>(*this).release())) {
  environment_.open_steps().Add(this);
}

LocalRunner::~LocalRunner() {
  Stop(Cancelled("the session's runner is gone"));
  bound_functions_->Close();
  environment_.open_steps().Remove(this);
}

void LocalRunner::AppendOpenSteps(std::vector<OpenStep>* steps) {
  MutexLock lock(mutex_);
  for (LocalStep* step = steps_; step != nullptr; step = step->after) {
    if (!step->running.load(std::memory_order_acquire)) continue;
    OpenStep& open = steps->emplace_back();
    open.id = step->id.load(std::memory_order_relaxed);
    open.waiting = step->waiting.All(&open.events);
    open.running = step->Running();
  }
}

void LocalRunner::Add(LocalStep* step) {
  MutexLock lock(mutex_);
  step->after = steps_;
  if (steps_ != nullptr) steps_->before = step;
  steps_ = step;
}

void LocalRunner::Remove(LocalStep* step) {
  MutexLock lock(mutex_);
  (step->before != nullptr ? step->before->after : steps_) = step->after;
  if (step->after != nullptr) step->after->before = step->before;
}

Status LocalRunner::Begin(LocalStep* step) {
  step->running.store(true, std::memory_order_seq_cst);
  if (!stopping_.load(std::memory_order_seq_cst)) [[likely]]
    return OkStatus();
  step->running.store(false, std::memory_order_seq_cst);
  MutexLock lock(mutex_);
  AwaitPins(step);
  return stopped_;
}

void LocalRunner::End(LocalStep* step) {
  step->running.store(false, std::memory_order_seq_cst);
  if (!stopping_.load(std::memory_order_seq_cst)) [[likely]]
    return;
  MutexLock lock(mutex_);
  AwaitPins(step);
}

// The step does not run any more: waits until Cancel() has let go of it, and tells Stop().
void LocalRunner::AwaitPins(LocalStep* step) {
  while (step->pins > 0) changed_.Wait(mutex_);
  changed_.NotifyAll();
}

void LocalRunner::Cancel(Status reason) {
  mutex_.Lock();
  if (!stopping_.load(std::memory_order_relaxed)) {
    stopped_ = std::move(reason);
    stopping_.store(true, std::memory_order_seq_cst);
  }
  for (;;) {
    LocalStep* untold = steps_;
    while (untold != nullptr &&
           (untold->told_to_stop || !untold->running.load(std::memory_order_seq_cst))) {
      untold = untold->after;
    }
    if (untold == nullptr) break;
    untold->told_to_stop = true;
    ++untold->pins;
    const Status why = stopped_;
    mutex_.Unlock();
    untold->cancellation.Cancel(why);  // runs callbacks: without the lock
    mutex_.Lock();
    --untold->pins;
    changed_.NotifyAll();
  }
  mutex_.Unlock();
}

bool LocalRunner::AnyRuns() const {
  for (const LocalStep* step = steps_; step != nullptr; step = step->after) {
    if (step->running.load(std::memory_order_seq_cst)) return true;
  }
  return false;
}

void LocalRunner::Stop(Status reason) {
  Cancel(std::move(reason));
  MutexLock lock(mutex_);
  while (AnyRuns()) changed_.Wait(mutex_);
}

void LocalRunner::OfferFunctions(LocalStep& step) {
  (void)step.step_resources.Create(
      "", kFunctionCaller,
      RefPtr<FunctionCaller>::Adopt(
          std::make_unique<StepFunctions>(functions_, step.tasks).release()));
  (void)step.step_resources.Create("", kFunctionRunner,
                                   RefPtr<FunctionRunner>::Share(bound_functions_.get()));
}

Result<std::shared_ptr<FunctionPlan>> LocalRunner::MakeFunction(const RuntimeCall& call,
                                                                Device& device) {
  auto plan = std::make_shared<FunctionPlan>();
  ASSIGN_OR_RETURN(plan->step, expand_(call));
  plan->num_fetches = plan->step.fetches.size();
  ProgramSpec spec;
  for (const Node* node : plan->step.graph->Nodes()) {
    if (!plan->step.IsFeed(*node)) spec.nodes.push_back(node);
  }
  spec.feeds = plan->step.feeds;
  spec.fetches = plan->step.fetches;
  spec.devices = {&device};
  spec.kernels = &environment_.kernels();
  spec.make_kernel = [&](const Node& node, Device& on) { return kernels_.Get(node, nullptr, on); };
  ASSIGN_OR_RETURN(Program program, ProgramFromGraph(spec));
  ASSIGN_OR_RETURN(plan->executor, MakeExecutor(std::move(program),
                                                {.threads = environment_.queue().Parallelism()}));
  return plan;
}

Result<std::unique_ptr<PreparedStep>> LocalRunner::Prepare(const PrepareRequest& request) {
  std::unique_ptr<const LocalCollectives> local_collectives;
  if (has_peers_) {
    ASSIGN_OR_RETURN(local_collectives, FindLocalCollectives(request.parts));
  } else {
    RETURN_IF_ERROR(CheckCollectiveMembers(request.parts));
  }
  ASSIGN_OR_RETURN(auto placed, WithCopies(environment_, request.parts));
  const std::vector<StepPartition>& parts = placed == nullptr ? request.parts : *placed;
  ProgramSpec spec;
  std::unordered_map<const Graph*, int> part_of;
  std::vector<int> feed_from;
  spec.fetches.resize(static_cast<size_t>(request.num_fetches));
  for (const StepPartition& part : parts) {
    part_of.emplace(part.step.graph.get(), static_cast<int>(spec.devices.size()));
    spec.devices.push_back(environment_.devices()[part.device].get());
    for (size_t i = 0; i < part.step.feeds.size(); ++i) {
      if (part.step.feeds[i].node == nullptr) continue;
      spec.feeds.push_back(part.step.feeds[i]);
      feed_from.push_back(static_cast<int>(i));
    }
    for (const Node* node : part.step.graph->Nodes()) {
      if (!part.step.IsFeed(*node)) spec.nodes.push_back(node);
    }
    for (size_t k = 0; k < part.fetches.size(); ++k) {
      spec.fetches[part.fetches[k]] = part.step.fetches[k];
    }
  }
  if (spec.devices.empty()) spec.devices.push_back(environment_.devices().front().get());
  const std::vector<Device*> devices = spec.devices;
  const std::vector<const Node*> nodes = spec.nodes;
  spec.kernels = &environment_.kernels();
  spec.device_of = [&](const Node& node) { return part_of.at(&node.graph()); };
  spec.make_kernel = [&](const Node& node, Device& device) {
    return kernels_.Get(node, parts[part_of.at(&node.graph())].step.Origin(node), device);
  };
  spec.work = request.work;
  ASSIGN_OR_RETURN(Program program, ProgramFromGraph(spec));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Executor> executor,
      MakeMeasuredExecutor(std::move(program),
                           {.threads = environment_.queue().Parallelism(), .work = request.work},
                           &environment_.clock()));
  bool in_order = static_cast<int>(feed_from.size()) == request.num_feeds;
  for (size_t i = 0; i < feed_from.size(); ++i) in_order &= feed_from[i] == static_cast<int>(i);
  return std::unique_ptr<PreparedStep>(std::make_unique<LocalPreparedStep>(
      *this, parts, std::move(placed), devices, nodes, std::move(executor), std::move(feed_from),
      in_order, std::move(local_collectives)));
}

}  // namespace thalweg
