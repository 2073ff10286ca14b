// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/bound_functions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "thalweg/session/local_step.h"

namespace thalweg {
namespace {

constexpr std::string_view kGone = "the session that ran the dataset's functions is closed";

class Visit {
 public:
  explicit Visit(RefPtr<BoundFunctions> owner)
      : owner_(std::move(owner)), runner_(owner_->Enter()) {}
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() {
    if (runner_ != nullptr) owner_->Leave();
  }
  LocalRunner* runner() const { return runner_; }

 private:
  const RefPtr<BoundFunctions> owner_;
  LocalRunner* const runner_;
};

bool IsFunction(const AttrValue& value) {
  return value.kind() == AttrValue::Kind::kFunction ||
         value.kind() == AttrValue::Kind::kFunctionList;
}

}  // namespace

class LocalFunction : public BoundFunction, public std::enable_shared_from_this<LocalFunction> {
 public:
  LocalFunction(RefPtr<BoundFunctions> owner, std::shared_ptr<FunctionPlan> plan,
                std::vector<DType> types, Device& device)
      : owner_(std::move(owner)),
        plan_(std::move(plan)),
        types_(std::move(types)),
        devices_({&device}) {
    never_waits_ = true;
    for (const ProgramNode& node : plan_->executor->program().nodes) {
      never_waits_ &= node.kernel == nullptr || node.kernel->AsAsync() == nullptr;
    }
    for (const Node* node : plan_->step.graph->Nodes()) {
      if (plan_->step.IsFeed(*node)) continue;
      nodes_.push_back(node);
      leaves_resources_ |= node->op().def.is_stateful;
    }
    names_functions_ = NamesFunctions(nodes_);
    MutexLock lock(owner_->mutex_);
    owner_->functions_.insert(this);
  }
  ~LocalFunction() override {
    const Visit visit(owner_);  // the runner is there, or Close() has called DropSpares()
    DropSpares();
    MutexLock lock(owner_->mutex_);
    owner_->functions_.erase(this);
  }

  // The runner takes the steps off its list.
  void DropSpares() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    spare_.clear();
  }

  bool never_waits() const override { return never_waits_; }
  std::vector<DType> result_types() const override {
    std::vector<DType> types;
    for (const Output& result : plan_->step.fetches) {
      types.push_back(result.node->output_type(result.index));
    }
    return types;
  }

  Status Run(std::span<const Tensor> args, CancellationManager* cancellation,
             std::vector<Tensor>* results) override {
    RETURN_IF_ERROR(CheckArguments(args));
    const Visit visit(owner_);
    if (visit.runner() == nullptr) return Cancelled(kGone);
    LocalRunner& runner = *visit.runner();
    results->resize(plan_->num_fetches);
    std::unique_ptr<LocalStep> step = TakeStep(runner);
    RETURN_IF_ERROR(runner.Begin(step.get()));
    Executor::Step run = Arrange(runner, *step);
    step->work.set_queue(nullptr);
    run.feeds = args;
    run.fetches = *results;
    run.work = &step->work;
    run.tasks = names_functions_ ? &step->tasks : nullptr;
    Status status;
    {
      LocalStep* const running = step.get();
      const ScopedCancellation outside(
          cancellation, [running](const Status& reason) { running->cancellation.Cancel(reason); });
      status = plan_->executor->Run(run);
    }
    runner.End(step.get());
    GiveStep(std::move(step), status.ok());
    return status;
  }

  void Start(std::vector<Tensor> args, CancellationManager* cancellation, Done done) override {
    if (Status fit = CheckArguments(args); !fit.ok()) return done(std::move(fit));
    auto open = std::make_shared<OpenCall>(shared_from_this(), std::move(args), std::move(done));
    LocalRunner* const runner = open->visit.runner();
    if (runner == nullptr) return open->done(Cancelled(kGone));
    open->step = TakeStep(*runner);
    if (Status begun = runner->Begin(open->step.get()); !begun.ok()) return open->done(begun);
    Executor::Step run = Arrange(*runner, *open->step);
    run.queue = &runner->environment_.background();
    open->step->work.set_queue(run.queue);
    run.feeds = open->args;
    run.fetches = open->results;
    LocalStep* const running = open->step.get();
    open->outside.emplace(
        cancellation, [running](const Status& reason) { running->cancellation.Cancel(reason); });
    plan_->executor->RunAsync(run, [open](Status status) {
      open->outside.reset();
      open->visit.runner()->End(open->step.get());
      open->function->GiveStep(std::move(open->step), status.ok());
      if (!status.ok()) return open->done(std::move(status));
      open->done(std::move(open->results));
    });
  }

 private:
  // From its beginning until its caller has been told.
  struct OpenCall {
    OpenCall(std::shared_ptr<LocalFunction> of, std::vector<Tensor> given, Done told)
        : function(std::move(of)),
          visit(function->owner_),
          args(std::move(given)),
          results(function->plan_->num_fetches),
          done(std::move(told)) {}

    const std::shared_ptr<LocalFunction> function;
    const Visit visit;
    std::vector<Tensor> args;
    std::vector<Tensor> results;
    Done done;
    std::unique_ptr<LocalStep> step;
    std::optional<ScopedCancellation> outside;
  };

  static constexpr size_t kMostSpare = 16;

  // A graph may say that elements are of other types than they are.
  Status CheckArguments(std::span<const Tensor> args) const {
    if (args.size() != types_.size()) {
      return InvalidArgument("the function takes ", types_.size(), " arguments, got ", args.size());
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].dtype() == types_[i]) continue;
      return InvalidArgument("argument ", i, " of the function must be ", types_[i], ", got ",
                             args[i].dtype());
    }
    return OkStatus();
  }

  std::unique_ptr<LocalStep> TakeStep(LocalRunner& runner) EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      if (!spare_.empty()) {
        std::unique_ptr<LocalStep> step = std::move(spare_.back());
        spare_.pop_back();
        return step;
      }
    }
    return std::make_unique<LocalStep>(runner, runner.environment_, devices_, nodes_);
  }

  void GiveStep(std::unique_ptr<LocalStep> step, bool ok) EXCLUDES(mutex_) {
    if (!ok || step->cancellation.IsCancelled()) return;
    if (leaves_resources_) step->step_resources.ResetAll();
    MutexLock lock(mutex_);
    if (spare_.size() < kMostSpare) spare_.push_back(std::move(step));
  }

  Executor::Step Arrange(LocalRunner& runner, LocalStep& step) {
    WatchedStepContext& context = step.contexts[0];
    context.step_id = 0;
    context.queue = &runner.environment_.queue();
    context.resources = &runner.resources_;
    context.rendezvous = &step.rendezvous;
    if (names_functions_) runner.OfferFunctions(step);
    return {.contexts = step.pointers, .called = &step.called};
  }

  const RefPtr<BoundFunctions> owner_;
  const std::shared_ptr<FunctionPlan> plan_;
  const std::vector<DType> types_;  // of its arguments
  const std::vector<Device*> devices_;
  std::vector<const Node*> nodes_;
  bool never_waits_ = false;
  bool leaves_resources_ = false;
  bool names_functions_ = false;
  Mutex mutex_;
  std::vector<std::unique_ptr<LocalStep>> spare_ GUARDED_BY(mutex_);
};

bool NamesFunctions(const std::vector<const Node*>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    return std::any_of(node->attrs().begin(), node->attrs().end(),
                       [](const AttrMap::Entry& attr) { return IsFunction(attr.second); });
  });
}

Result<std::shared_ptr<BoundFunction>> BoundFunctions::Bind(const FunctionRef& function,
                                                            std::vector<DType> args, Device& device,
                                                            CancellationManager* cancellation) {
  const Visit visit(RefPtr<BoundFunctions>::Share(this));
  if (visit.runner() == nullptr) return Cancelled(kGone);
  const RuntimeCall call{.call = function, .args = args, .cancellation = cancellation};
  ASSIGN_OR_RETURN(std::shared_ptr<FunctionPlan> plan, visit.runner()->MakeFunction(call, device));
  return std::shared_ptr<BoundFunction>(std::make_shared<LocalFunction>(
      RefPtr<BoundFunctions>::Share(this), std::move(plan), std::move(args), device));
}

void BoundFunctions::Close() {
  MutexLock lock(mutex_);
  runner_ = nullptr;
  while (inside_ > 0) changed_.Wait(mutex_);
  for (LocalFunction* function : functions_) function->DropSpares();
}

LocalRunner* BoundFunctions::Enter() {
  MutexLock lock(mutex_);
  if (runner_ != nullptr) ++inside_;
  return runner_;
}

void BoundFunctions::Leave() {
  MutexLock lock(mutex_);
  if (--inside_ == 0) changed_.NotifyAll();
}

}  // namespace thalweg
