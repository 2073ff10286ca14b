// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/session_core.h"

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

// Tensors of a step in memory of this frame where they are few.
class TensorArray {
 public:
  explicit TensorArray(size_t size) : size_(size) {
    if (size > kInline) many_.resize(size);
  }
  std::span<Tensor> span() { return {size_ > kInline ? many_.data() : few_, size_}; }

 private:
  static constexpr size_t kInline = 8;
  size_t size_;
  Tensor few_[kInline];
  std::vector<Tensor> many_;
};

}  // namespace

SessionCore::SessionCore(std::shared_ptr<Environment> environment, std::shared_ptr<Graph> graph,
                         SessionOptions options, RemoteParts remote)
    : environment_(std::move(environment)),
      graph_(std::move(graph)),
      options_(options),
      remote_(std::move(remote)),
      devices_(DevicesOf(*environment_, remote_)),
      kernels_(environment_->kernels(), resources()),
      local_runner_(*environment_, resources(), kernels_,
                    remote_.is_worker || remote_.make_runner != nullptr),
      remote_runner_(remote_.make_runner ? remote_.make_runner(local_runner_) : nullptr),
      runner_(remote_runner_ != nullptr ? *remote_runner_ : local_runner_),
      placer_({.devices = devices_,
               .kernels = &environment_->kernels(),
               .soft = options.soft_placement,
               .logger = environment_->logger()}),
      evaluator_(*environment_),
      compiler_(*graph_, placer_, evaluator_, runner_,
                {.passes = options.passes,
                 .log_placement = options.log_placement,
                 .partition = {.bfloat16_transfers = options.bfloat16_transfers},
                 .logger = environment_->logger(),
                 .devices = devices_,
                 .kernels = &environment_->kernels(),
                 .schedule_receives = remote_.schedule_receives}),
      plans_(options.plan_cache_size) {
  environment_->SessionOpened();
}

SessionCore::~SessionCore() { Close(); }

void SessionCore::Close() {
  runner_.Stop(Cancelled(kClosed));
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    plans_.Clear();
    kernels_.Clear();
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
  plans_.Clear();
  kernels_.Clear();
}

// A program that adds nodes in its training loop runs slower with every step and never says why. A
// saver or a measure that is built late is none of those: it takes several growths.
Status SessionCore::CheckGrowth() {
  const int nodes = graph_->num_nodes();
  if (nodes_at_first_run_ < 0) nodes_at_first_run_ = nodes_at_last_run_ = nodes;
  if (nodes != std::exchange(nodes_at_last_run_, nodes)) ++growths_;
  if (nodes <= nodes_at_first_run_ ||
      (growths_ != kGrowthsBeforeWarning && !options_.strict_graph)) {
    return OkStatus();
  }
  const Node* first = graph_->Nodes()[nodes_at_first_run_];
  const std::string what =
      StrCat("the graph has grown after the session's first Run, by ", nodes - nodes_at_first_run_,
             " nodes; the first is ", first->Label(),
             first->site() == 0 ? "" : StrCat(" (created at ", graph_->Site(first->site()), ")"));
  if (options_.strict_graph) {
    return FailedPrecondition(what,
                              "; build the whole graph before the first Run, or switch "
                              "strict_graph off");
  }
  ++growths_;  // past the number: said once
  environment_->logger().Warning(what, "; in a loop this makes every Run slower (said once)");
  return OkStatus();
}

Result<std::shared_ptr<StepPlan>> SessionCore::GetPlan(const Signature& signature) {
  if (std::shared_ptr<StepPlan> plan = plans_.Find(signature);
      plan != nullptr && plan->reset_count == reset_count()) {
    return plan;
  }
  MutexLock lock(mutex_);
  if (closed_) return Cancelled(kClosed);
  ForgetStaleKernels();
  // Another thread may have compiled it meanwhile.
  if (std::shared_ptr<StepPlan> plan = plans_.Find(signature); plan != nullptr) return plan;
  RETURN_IF_ERROR(CheckGrowth());
  ASSIGN_OR_RETURN(std::shared_ptr<StepPlan> plan, compiler_.Compile(signature));
  plan->reset_count = kernels_reset_count_;
  plans_.Insert(plan);
  return plan;
}

Result<std::shared_ptr<StepPlan>> SessionCore::CompilePartial(const Signature& signature) {
  MutexLock lock(mutex_);
  if (closed_) return Cancelled(kClosed);
  ForgetStaleKernels();
  RETURN_IF_ERROR(CheckGrowth());
  return compiler_.CompilePartial(signature);
}

Result<std::string> SessionCore::DescribePlan(const NamedSignature& names) {
  ASSIGN_OR_RETURN(const Signature signature, Resolve(names));
  MutexLock lock(mutex_);
  if (closed_) return Cancelled(kClosed);
  ForgetStaleKernels();
  return compiler_.Describe(signature);
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

Result<std::shared_ptr<StepPlan>> SessionCore::GetPlan(const NamedSignature& names) {
  if (std::shared_ptr<StepPlan> plan = plans_.Find(names);
      plan != nullptr && plan->reset_count == reset_count()) {
    return plan;
  }
  ASSIGN_OR_RETURN(const Signature signature, Resolve(names));
  ASSIGN_OR_RETURN(std::shared_ptr<StepPlan> plan, GetPlan(signature));
  plans_.Insert(names, plan);
  return plan;
}

StepRequest SessionCore::MakeRequest(const RunOptions& options) {
  StepRequest request;
  request.step_id = next_step_id_.fetch_add(1, std::memory_order_relaxed);
  request.timeout = options.timeout.count() > 0 ? options.timeout : options_.default_timeout;
  request.cancellation = options.cancellation;
  request.inline_in_caller = options.inline_in_caller;
  return request;
}

Status SessionCore::RunPlan(const StepPlan& plan, const RunOptions& options,
                            std::span<const Tensor> values, std::span<Tensor> fetches,
                            RunMetadata* metadata) {
  if (values.size() != plan.signature.feeds.size() ||
      fetches.size() != plan.signature.fetches.size()) {
    return InvalidArgument("expected ", plan.signature.feeds.size(), " feeds and room for ",
                           plan.signature.fetches.size(), " fetches, got ", values.size(), " and ",
                           fetches.size());
  }
  RETURN_IF_ERROR(plan.CheckFeeds(values));
  StepRequest request = MakeRequest(options);
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
  if (plan.fetches_in_order) {
    request.fetches = fetches;
    return plan.prepared->Run(request);
  }
  TensorArray fetched(static_cast<size_t>(plan.num_part_fetches));
  request.fetches = fetched.span();
  RETURN_IF_ERROR(plan.prepared->Run(request));
  for (size_t i = 0; i < fetches.size(); ++i) {
    const int from = plan.fetch_from[i];
    fetches[i] = from < 0 ? values[-1 - from] : request.fetches[from];
  }
  return OkStatus();
}

}  // namespace thalweg
