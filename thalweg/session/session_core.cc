// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/session_core.h"

#include <algorithm>
#include <bit>

#include "thalweg/base/mapped_file.h"
#include "thalweg/resources/mapped_weights.h"
#include "thalweg/session/run_metadata_message.h"
#include "thalweg/tensor/inlined_tensors.h"

namespace thalweg {
namespace {

constexpr std::string_view kClosed = "Session has been closed.";
constexpr int kGrowthsBeforeWarning = 5;

std::vector<Device*> DevicesOf(const Environment& environment, const RemoteParts& remote) {
  std::vector<Device*> devices;
  for (const auto& device : environment.devices()) devices.push_back(device.get());
  for (const auto& device : remote.devices) devices.push_back(device.get());
  return devices;
}

// Of each device, where not all have those of this process.
std::vector<const KernelRegistry*> KernelsOf(const Environment& environment,
                                             const RemoteParts& remote) {
  if (std::ranges::none_of(remote.kernels, [](const auto& told) { return told != nullptr; })) {
    return {};
  }
  std::vector<const KernelRegistry*> kernels(environment.devices().size(), &environment.kernels());
  for (const auto& told : remote.kernels) {
    kernels.push_back(told == nullptr ? &environment.kernels() : told.get());
  }
  return kernels;
}

// By cost only where a word says so, or devices that are known differ: what is known of kinds alone
// is a guess, and graphs that go to an accelerator whole shall go on doing so.
PlacementMethod MethodOf(const SessionOptions& options) {
  const bool is_known = options.machine != nullptr && !options.machine->IsUniform();
  return PassSet::Parse(options.passes)
      ->placement()
      .value_or(is_known ? PlacementMethod::kGreedy : PlacementMethod::kPreferred);
}

// What is not given is measured, where it counts: where there is a choice, which is made by cost.
std::shared_ptr<const Machine> MachineOf(Environment& environment, const RemoteParts& remote,
                                         std::span<Device* const> devices,
                                         const SessionOptions& options) {
  const bool counts = PlacesByCost(options) && devices.size() > 1;
  if (options.machine != nullptr || !counts) return options.machine;
  MeasuredRates rates = remote.rates;
  environment.MeasureDevices(&rates);
  return std::make_shared<const Machine>(MeasuredMachine(devices, rates));
}

}  // namespace

bool PlacesByCost(const SessionOptions& options) {
  return MethodOf(options) != PlacementMethod::kPreferred;
}

SessionCore::SessionCore(std::shared_ptr<Environment> environment, std::shared_ptr<Graph> graph,
                         SessionOptions options, RemoteParts remote)
    : environment_(std::move(environment)),
      graph_(std::move(graph)),
      options_(options),
      remote_(std::move(remote)),
      devices_(DevicesOf(*environment_, remote_)),
      kernels_(environment_->kernels(), resources()),
      local_runner_(*environment_, resources(), kernels_,
                    remote_.is_worker || remote_.make_runner != nullptr,
                    [this](const RuntimeCall& call) { return ExpandCall(call); }),
      remote_runner_(remote_.make_runner ? remote_.make_runner(local_runner_) : nullptr),
      runner_(remote_runner_ != nullptr ? *remote_runner_ : local_runner_),
      placement_method_(MethodOf(options_)),
      placer_({.devices = devices_,
               .kernels = &environment_->kernels(),
               .kernels_of = KernelsOf(*environment_, remote_),
               .rule = options.placement,
               .method = placement_method_,
               .machine = MachineOf(*environment_, remote_, devices_, options_),
               .measured = &measured_,
               .shares_state = options_.share_resources || remote_.is_worker,
               .logger = environment_->logger()}),
      evaluator_(*environment_),
      usual_{{*graph_, placer_, evaluator_, runner_,
              CompilerOptions(options_.passes, options_.log_placement)},
             PlanCache(options.plan_cache_size)},
      checked_{{*graph_, placer_, evaluator_, runner_,
                CompilerOptions("none,check_numerics", /*log_placement=*/false)},
               PlanCache(options.plan_cache_size)} {
  environment_->SessionOpened();
}

Status SessionCore::MapCheckpoints(std::shared_ptr<MappedFiles> files) {
  mapped_files_ = std::move(files);
  return resources().Create<MappedWeights>(
      "", MappedWeights::kName,
      RefPtr<MappedWeights>::Adopt(std::make_unique<MappedWeights>(mapped_files_).release()));
}

StepCompiler::Options SessionCore::CompilerOptions(std::string_view passes,
                                                   bool log_placement) const {
  return {.passes = *PassSet::Parse(passes),
          .fold_limit_bytes = options_.fold_limit_bytes,
          .placement_log = environment_->LoggerAt(LogLevel::kInfo),
          .log_placement = log_placement,
          .partition = {.bfloat16_transfers = options_.bfloat16_transfers},
          .devices = devices_,
          .kernels = &environment_->kernels(),
          .schedule_receives = remote_.schedule_receives};
}

SessionCore::~SessionCore() { Close(); }

void SessionCore::Cancel() {
  closing_.Cancel(Cancelled(kClosed));
  runner_.Cancel(Cancelled(kClosed));
}

void SessionCore::Close() {
  closing_.Cancel(Cancelled(kClosed));
  runner_.Stop(Cancelled(kClosed));
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    changed_.NotifyAll();
    while (compiling_) changed_.Wait(mutex_);
    ForgetPlans();
    kernels_.Clear();
    local_runner_.ForgetFunctions();
  }
  own_resources_.ResetAll();
  environment_->SessionClosed();
}

void SessionCore::ResetContainers(const std::vector<std::string>& containers) {
  if (options_.share_resources) {
    environment_->ResetContainers(containers);
    return;
  }
  if (containers.empty()) own_resources_.ResetAll();
  for (const std::string& container : containers) own_resources_.ResetContainer(container);
  own_resets_.fetch_add(1, std::memory_order_release);
}

void SessionCore::ForgetStaleKernels() {
  const uint64_t now = reset_count();
  if (kernels_reset_count_ == now) return;
  kernels_reset_count_ = now;
  ForgetPlans();
  kernels_.Clear();
  local_runner_.ForgetFunctions();
}

// The first node from `begin` on that the program's own lines have made, and not an installed
// library's: only there can its author do anything about it. Null when there is none.
const Node* SessionCore::FirstOfProgram(int begin, int end) const {
  const auto is_library = [](std::string_view site) {
    return site.find("/site-packages/") != std::string_view::npos ||
           site.find("/dist-packages/") != std::string_view::npos;
  };
  const Node* unknown = nullptr;
  bool any_library = false;
  for (const int id : graph_->NodesOfProgram(begin, end)) {
    const Node* node = graph_->NodeById(id);
    if (node == nullptr) continue;
    if (node->site() == 0) {
      if (unknown == nullptr) unknown = node;
    } else if (is_library(graph_->Site(node->site()))) {
      any_library = true;
    } else {
      return node;
    }
  }
  return any_library ? nullptr : unknown;
}

// A program that adds nodes in its training loop runs slower with every step and never says why. A
// saver or a measure that is built late is none of those: it takes several growths.
Status SessionCore::CheckGrowth() {
  const int nodes = graph_->num_nodes();
  if (nodes_at_first_run_ < 0) nodes_at_first_run_ = nodes_at_last_run_ = nodes;
  const int before = std::exchange(nodes_at_last_run_, nodes);
  if (nodes <= nodes_at_first_run_) return OkStatus();
  const int at_first_run = nodes_at_first_run_;
  const auto grown = [&] { return graph_->NodesOfProgram(at_first_run, nodes); };
  const auto what = [&](const Node* first) {
    return StrCat(
        "the graph has grown after the session's first Run, by ", grown().size(),
        " nodes; the first is ", first->Label(),
        first->site() == 0 ? "" : StrCat(" (created at ", graph_->Site(first->site()), ")"));
  };
  if (options_.strict_graph) {
    const std::vector<int> ids = grown();
    if (ids.empty()) return OkStatus();
    return FailedPrecondition(what(graph_->NodeById(ids[0])),
                              "; build the whole graph before the first Run, or switch "
                              "strict_graph off");
  }
  if (growths_ > kGrowthsBeforeWarning || nodes == before) return OkStatus();
  const Node* own = FirstOfProgram(before, nodes);
  if (own == nullptr || ++growths_ < kGrowthsBeforeWarning) return OkStatus();
  ++growths_;  // past the number: said once
  const Node* first = FirstOfProgram(nodes_at_first_run_, nodes);
  environment_->logger().Warning(what(first == nullptr ? own : first),
                                 "; in a loop this makes every Run slower: make what a loop runs "
                                 "before it (said once; TF_CPP_MIN_LOG_LEVEL=2 hides warnings)");
  return OkStatus();
}

Status SessionCore::TakeTurn(WorkBudget& work) {
  {
    MutexLock lock(mutex_);
    if (closed_) return Cancelled(kClosed);
  }
  RETURN_IF_ERROR(work.Begin("waiting for the compilation of another step of this session"));
  // So that a cancellation is seen while nothing else happens.
  const ScopedCancellation outside(work.limits().cancellations[0], [this](const Status&) {
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  Status status;
  MutexLock lock(mutex_);
  if (compiling_ && compiler_thread_ == std::this_thread::get_id()) {
    status = FailedPrecondition(
        "the session is compiling a step, which has called this function of the program (a log's, "
        "for one): it can compile no other until that is done");
  }
  while (compiling_ && !closed_ && status.ok()) {
    environment_->clock().WaitUntil(mutex_, changed_, work.deadline().time());
    status = work.Look();
  }
  if (closed_) status = Cancelled(kClosed);
  if (status.ok()) {
    compiling_ = true;
    compiler_thread_ = std::this_thread::get_id();
  }
  return status;
}

void SessionCore::GiveTurn() {
  MutexLock lock(mutex_);
  compiling_ = false;
  changed_.NotifyAll();
}

template <class F>
std::invoke_result_t<F&, WorkBudget&> SessionCore::InTurn(const RunOptions& options,
                                                          std::chrono::nanoseconds* spent,
                                                          F compile) {
  const Clock& clock = environment_->clock();
  const std::chrono::nanoseconds timeout = TimeoutOf(options);
  const Clock::TimePoint begin = timeout.count() > 0 ? clock.Now() : Clock::TimePoint();
  WorkBudget work({.what = "it was still being compiled",
                   .clock = &clock,
                   .timeout = timeout,
                   .spent = std::min(options.spent, timeout),
                   .cancellations = {options.cancellation, &closing_}});
  RETURN_IF_ERROR(TakeTurn(work));
  struct Turn {
    SessionCore& core;
    ~Turn() { core.GiveTurn(); }
  } const turn{*this};
  auto made = compile(work);
  if (timeout.count() > 0) *spent = clock.Now() - begin;
  return made;
}

template <class Key>
std::shared_ptr<StepPlan> SessionCore::FindPlan(PlanCache& plans, const Key& key) {
  std::shared_ptr<StepPlan> plan = plans.Find(key);
  if (plan == nullptr || !IsStale(*plan)) return plan;
  plans.Clear();
  return nullptr;
}

Result<PreparedPlan> SessionCore::GetPlan(const Signature& signature, const RunOptions& options) {
  Planning& planning = PlanningFor(options);
  if (std::shared_ptr<StepPlan> plan = FindPlan(planning.plans, signature); plan != nullptr) {
    return PreparedPlan{std::move(plan)};
  }
  PreparedPlan prepared;
  ASSIGN_OR_RETURN(
      prepared.plan,
      InTurn(options, &prepared.spent, [&](WorkBudget& work) -> Result<std::shared_ptr<StepPlan>> {
        uint64_t reset_count = 0;
        const uint64_t costs_version = costs_version_.load(std::memory_order_acquire);
        {
          MutexLock lock(mutex_);
          ForgetStaleKernels();
          // Another thread may have compiled it meanwhile.
          if (std::shared_ptr<StepPlan> plan = FindPlan(planning.plans, signature);
              plan != nullptr) {
            return plan;
          }
          RETURN_IF_ERROR(CheckGrowth());
          reset_count = kernels_reset_count_;
        }
        ASSIGN_OR_RETURN(std::shared_ptr<StepPlan> plan,
                         planning.compiler.Compile(signature, work));
        plan->reset_count = reset_count;
        plan->costs_version = costs_version;
        planning.plans.Insert(plan);
        return plan;
      }));
  return prepared;
}

Result<PreparedPlan> SessionCore::CompilePartial(const Signature& signature,
                                                 const RunOptions& options) {
  PreparedPlan prepared;
  ASSIGN_OR_RETURN(
      prepared.plan,
      InTurn(options, &prepared.spent, [&](WorkBudget& work) -> Result<std::shared_ptr<StepPlan>> {
        {
          MutexLock lock(mutex_);
          ForgetStaleKernels();
          RETURN_IF_ERROR(CheckGrowth());
        }
        return usual_.compiler.CompilePartial(signature, work);
      }));
  return prepared;
}

// The time of the step ends with its cancellation.
Result<StepGraph> SessionCore::ExpandCall(const RuntimeCall& call) {
  std::chrono::nanoseconds spent{0};
  RunOptions options;
  options.cancellation = call.cancellation;
  return InTurn(options, &spent,
                [&](WorkBudget& work) { return usual_.compiler.ExpandCall(call, work); });
}

Result<std::string> SessionCore::DescribePlan(const NamedSignature& names) {
  ASSIGN_OR_RETURN(const Signature signature, Resolve(names));
  std::chrono::nanoseconds spent{0};
  return InTurn({}, &spent, [&](WorkBudget& work) -> Result<std::string> {
    {
      MutexLock lock(mutex_);
      ForgetStaleKernels();
    }
    return usual_.compiler.Describe(signature, work);
  });
}

Result<Signature> SessionCore::Resolve(const NamedSignature& names) const {
  Signature signature;
  for (const auto& [name, value] : names.feeds) {
    Result<Output> feed = graph_->FindOutput(name);
    if (!feed.ok()) return feed.status().WithContext(StrCat("feed '", name, "'"));
    signature.feeds.push_back(*feed);
  }
  for (const std::string& name : names.fetches) {
    Result<Output> fetch = graph_->FindOutput(name);
    if (!fetch.ok()) return fetch.status().WithContext(StrCat("fetch '", name, "'"));
    signature.fetches.push_back(*fetch);
  }
  for (const std::string& name : names.targets) {
    std::string_view node = name;
    if (node.starts_with('^')) node.remove_prefix(1);
    Node* target = graph_->FindNode(node.substr(0, node.rfind(':')));
    if (target == nullptr) {
      return InvalidArgument("target '", name, "': no node of this name in the graph");
    }
    signature.targets.push_back(target);
  }
  return signature;
}

Result<PreparedPlan> SessionCore::GetPlan(const NamedSignature& names, const RunOptions& options) {
  PlanCache& plans = PlanningFor(options).plans;
  if (std::shared_ptr<StepPlan> plan = FindPlan(plans, names); plan != nullptr) {
    return PreparedPlan{std::move(plan)};
  }
  ASSIGN_OR_RETURN(const Signature signature, Resolve(names));
  ASSIGN_OR_RETURN(PreparedPlan prepared, GetPlan(signature, options));
  plans.Insert(names, prepared.plan);
  return prepared;
}

Status SessionCore::Check(const RunOptions& options) const {
  RETURN_IF_ERROR(options.Validate());
  if (options.inter_op_thread_pool < -1 ||
      options.inter_op_thread_pool >= options_.inter_op_thread_pools) {
    return InvalidArgument("Invalid inter_op_thread_pool: ", options.inter_op_thread_pool,
                           "; expected -1, for the calling thread, or one of the session's ",
                           options_.inter_op_thread_pools, ", counted from 0");
  }
  return OkStatus();
}

StepRequest SessionCore::MakeRequest(const RunOptions& options, std::chrono::nanoseconds spent) {
  StepRequest request;
  request.step_id = next_step_id_.fetch_add(1, std::memory_order_relaxed);
  request.timeout = TimeoutOf(options);
  spent += options.spent;
  if (spent.count() > 0 && request.timeout.count() > 0) {
    request.spent = std::min(spent, request.timeout - std::chrono::nanoseconds(1));
    request.timeout -= request.spent;
  }
  request.cancellation = options.cancellation;
  request.collective_graph_key = options.collective_graph_key;
  request.is_repeated = options.is_repeated;
  request.is_watched = options.is_watched;
  request.trace_bytes = options_.trace_bytes;
  request.inline_in_caller =
      options.inline_in_caller || options.inter_op_thread_pool < 0 || options_.inline_steps;
  return request;
}

// Plans are made anew after the first traced step, the second, the fourth and so on: soon, and not
// after each step of a program that traces all.
void SessionCore::NoteCosts(const StepStats& stats) {
  RunMetadata copy;
  copy.step_stats = stats;
  if (!ReadStepStats(&copy).ok()) return;  // of a peer, and only good to have
  for (const DeviceStats& device : copy.step_stats.devices) {
    for (const NodeStats& node : device.nodes) {
      measured_.Add(node.node, device.device,
                    static_cast<double>(node.end_nanos - node.start_nanos) * 1e-9);
    }
  }
  const uint64_t steps = traced_steps_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!std::has_single_bit(steps)) return;
  costs_version_.fetch_add(1, std::memory_order_release);
  ForgetPlans();
}

// What a step has computed of pages that were gone meanwhile is no result.
Status SessionCore::RunPlan(const StepPlan& plan, const RunOptions& options,
                            std::span<const Tensor> values, std::span<Tensor> fetches,
                            RunMetadata* metadata, std::chrono::nanoseconds spent) {
  if (mapped_files_ == nullptr) return RunStep(plan, options, values, fetches, metadata, spent);
  RETURN_IF_ERROR(mapped_files_->Check());
  Status status = RunStep(plan, options, values, fetches, metadata, spent);
  if (status.ok()) status = CopyMapped(fetches);
  RETURN_IF_ERROR(mapped_files_->Check());
  return status;
}

// Results are read after the step, when nobody looks at the files any more.
Status SessionCore::CopyMapped(std::span<Tensor> fetches) {
  for (Tensor& fetch : fetches) {
    if (fetch.empty() || fetch.bytes() == 0 || !mapped_files_->Hold(fetch.raw_data())) continue;
    ASSIGN_OR_RETURN(fetch, fetch.Clone(*environment_->allocator()));
  }
  return OkStatus();
}

Status SessionCore::RunStep(const StepPlan& plan, const RunOptions& options,
                            std::span<const Tensor> values, std::span<Tensor> fetches,
                            RunMetadata* metadata, std::chrono::nanoseconds spent) {
  if (values.size() != plan.signature.feeds.size() ||
      fetches.size() != plan.signature.fetches.size()) {
    return InvalidArgument("expected ", plan.signature.feeds.size(), " feeds and room for ",
                           plan.signature.fetches.size(), " fetches, got ", values.size(), " and ",
                           fetches.size());
  }
  RETURN_IF_ERROR(plan.CheckFeeds(values));
  StepRequest request = MakeRequest(options, spent);
  request.feeds = values;
  if (metadata != nullptr && options.trace != TraceLevel::kNone) {
    request.stats = &metadata->step_stats;
  }
  if (metadata != nullptr && options.partition_graphs) {
    metadata->partition_graphs.clear();
    for (const StepPartition& part : plan.parts) {
      metadata->partition_graphs.push_back({devices_[part.device]->full_name(), part.step.graph});
    }
  }
  if (metadata != nullptr && options.memory_plan) {
    ASSIGN_OR_RETURN(metadata->memory, plan.prepared->PlanMemory(values));
  }
  const bool keeps_costs = request.stats != nullptr && options.teaches_placement &&
                           placement_method_ != PlacementMethod::kPreferred;
  if (plan.fetches_in_order) {
    request.fetches = fetches;
    RETURN_IF_ERROR(plan.prepared->Run(request));
    if (keeps_costs) NoteCosts(*request.stats);
    return OkStatus();
  }
  InlinedTensors fetched(static_cast<size_t>(plan.num_part_fetches));
  request.fetches = fetched.span();
  RETURN_IF_ERROR(plan.prepared->Run(request));
  if (keeps_costs) NoteCosts(*request.stats);
  for (size_t i = 0; i < fetches.size(); ++i) {
    const int from = plan.fetch_from[i];
    fetches[i] = from < 0 ? values[-1 - from] : request.fetches[from];
  }
  return OkStatus();
}

}  // namespace thalweg
