// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/bound_functions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "thalweg/session/local_step.h"

namespace thalweg {
namespace {

constexpr std::string_view kGone = "the session that ran the dataset's functions is closed";

class Visit {
 public:
  // `owner` outlives it.
  explicit Visit(const RefPtr<BoundFunctions>& owner) : owner_(*owner), runner_(owner_.Enter()) {}
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() {
    if (runner_ != nullptr) owner_.Leave();
  }
  LocalRunner* runner() const { return runner_; }

 private:
  BoundFunctions& owner_;
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
    const Visit visit(owner_);  // the runner is there, or Close() has called DropSteps()
    DropSteps();
    MutexLock lock(owner_->mutex_);
    owner_->functions_.erase(this);
  }

  // The runner takes the steps off its list.
  void DropSteps() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    spare_.clear();
    for (Repeated* repeated : repeated_) repeated->DropStep();
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
    std::unique_ptr<LocalStep> step = TakeStep(*visit.runner());
    Status status;
    {
      LocalStep* const running = step.get();
      const ScopedCancellation outside(
          cancellation, [running](const Status& reason) { running->cancellation.Cancel(reason); });
      status = RunStep(*visit.runner(), *step, args, results);
    }
    GiveStep(std::move(step), status.ok());
    return status;
  }

  std::unique_ptr<RepeatedCall> Repeat(CancellationManager* cancellation) override {
    return std::make_unique<Repeated>(shared_from_this(), cancellation);
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
  // One caller, and the step that he runs again and again.
  class Repeated : public RepeatedCall {
   public:
    Repeated(std::shared_ptr<LocalFunction> function, CancellationManager* cancellation)
        : function_(std::move(function)), cancellation_(cancellation) {
      MutexLock lock(function_->mutex_);
      function_->repeated_.insert(this);
    }
    ~Repeated() override {
      MutexLock lock(function_->mutex_);
      function_->repeated_.erase(this);
      DropStep();  // Close() waits for the lock, so the runner is there as long as the step
    }

    Status Run(std::span<const Tensor> args, std::vector<Tensor>* results) override {
      RETURN_IF_ERROR(function_->CheckArguments(args));
      const Visit visit(function_->owner_);
      if (visit.runner() == nullptr) return Cancelled(kGone);
      if (step_ == nullptr) MakeStep(*visit.runner());
      Status status = function_->RunStep(*visit.runner(), *step_, args, results);
      if (!function_->MayRunAgain(*step_, status.ok())) DropStep();
      return status;
    }
    // By the caller, or where he is not and will not be inside of the runner.
    void DropStep() {
      outside_.reset();
      step_ = nullptr;
    }

   private:
    void MakeStep(LocalRunner& runner) {
      step_ = function_->TakeStep(runner);
      outside_.emplace(cancellation_, [step = step_.get()](const Status& reason) {
        step->cancellation.Cancel(reason);
      });
    }

    const std::shared_ptr<LocalFunction> function_;
    CancellationManager* const cancellation_;
    std::unique_ptr<LocalStep> step_;  // null: none yet, or it has ended with an error
    std::optional<ScopedCancellation> outside_;
  };

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

  // In this thread, alone.
  Status RunStep(LocalRunner& runner, LocalStep& step, std::span<const Tensor> args,
                 std::vector<Tensor>* results) {
    results->resize(plan_->num_fetches);
    RETURN_IF_ERROR(runner.Begin(&step));
    Executor::Step run = Arrange(runner, step);
    step.work.set_queue(nullptr);
    run.feeds = args;
    run.fetches = *results;
    run.work = &step.work;
    run.tasks = names_functions_ ? &step.tasks : nullptr;
    Status status = plan_->executor->Run(run);
    runner.End(&step);
    return status;
  }

  // What ended well leaves nothing to the next call.
  bool MayRunAgain(LocalStep& step, bool ok) const {
    if (!ok || step.cancellation.IsCancelled()) return false;
    if (leaves_resources_) step.step_resources.ResetAll();
    return true;
  }
  void GiveStep(std::unique_ptr<LocalStep> step, bool ok) EXCLUDES(mutex_) {
    if (!MayRunAgain(*step, ok)) return;
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
  std::set<Repeated*> repeated_ GUARDED_BY(mutex_);  // all that there are
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
  const auto self = RefPtr<BoundFunctions>::Share(this);
  const Visit visit(self);
  if (visit.runner() == nullptr) return Cancelled(kGone);
  const RuntimeCall call{.call = function, .args = args, .cancellation = cancellation};
  ASSIGN_OR_RETURN(std::shared_ptr<FunctionPlan> plan, visit.runner()->MakeFunction(call, device));
  return std::shared_ptr<BoundFunction>(
      std::make_shared<LocalFunction>(self, std::move(plan), std::move(args), device));
}

void BoundFunctions::Close() {
  inside_.fetch_or(kClosed, std::memory_order_acq_rel);
  MutexLock lock(mutex_);
  while (inside_.load(std::memory_order_acquire) != kClosed) changed_.Wait(mutex_);
  for (LocalFunction* function : functions_) function->DropSteps();
}

LocalRunner* BoundFunctions::Enter() {
  if ((inside_.fetch_add(1, std::memory_order_acq_rel) & kClosed) == 0) return runner_;
  Leave();
  return nullptr;
}

void BoundFunctions::Leave() {
  if (inside_.fetch_sub(1, std::memory_order_acq_rel) != kClosed + 1) return;
  MutexLock lock(mutex_);
  changed_.NotifyAll();
}

}  // namespace thalweg
