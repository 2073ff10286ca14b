// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/executor.h"

#include <algorithm>

#include "thalweg/base/floating_point.h"
#include "thalweg/base/spin.h"
#include "thalweg/executor/node_runner.h"
#include "thalweg/executor/plan.h"

namespace thalweg {
namespace {

// The plan and its spare step; helpers that come late keep it alive.
class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Plan plan, int threads) : plan_(std::move(plan)), threads_(threads) {}
  ~Core() { const std::unique_ptr<StepState> spare(spare_.load(std::memory_order_acquire)); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const Plan& plan() const { return plan_; }
  Status Run(const Executor::Step& args);
  void RunAsync(const Executor::Step& args, std::function<void(Status)> done);

 private:
  StepState* TakeStep();
  template <bool kParallel, bool kTrace>
  static void Call(StepState& step);
  template <bool kTrace>
  static void Help(void* object, uint64_t first);
  template <class Runner>
  static bool RunShared(StepState& step, Runner& runner);

  const Plan plan_;
  const int threads_;
  std::atomic<StepState*> spare_{nullptr};
};

StepState* Core::TakeStep() {
  StepState* step = spare_.exchange(nullptr, std::memory_order_acq_rel);
  if (step == nullptr) {
    step = std::make_unique<StepState>(plan_).release();
    step->SetHome(&spare_);
  }
  return step;
}

Status Core::Run(const Executor::Step& args) {
  const FloatingPointScope floating_point;
  StepState* const step = TakeStep();
  step->Begin(&args);
  const int helpers = args.queue == nullptr ? 0 : std::min(threads_, args.queue->Parallelism());
  const bool trace = args.trace != nullptr;
  if (plan_.is_parallel && helpers > 0) {
    step->Open(trace ? &Help<true> : &Help<false>, helpers, shared_from_this());
    if (args.work != nullptr) args.work->set_queue(step);
    trace ? Call<true, true>(*step) : Call<true, false>(*step);
    if (args.work != nullptr) args.work->set_queue(args.queue);
  } else {
    trace ? Call<false, true>(*step) : Call<false, false>(*step);
  }
  Status status = step->End();
  step->Release();
  return status;
}

void Core::RunAsync(const Executor::Step& args, std::function<void(Status)> done) {
  StepState* const step = TakeStep();
  step->BeginAsync(args, std::move(done));
  // Even where no unit is heavy there may be another thread each time that the step goes on.
  const int most = plan_.is_parallel ? std::min(threads_, args.queue->Parallelism()) : 1;
  step->Open(args.trace != nullptr ? &Help<true> : &Help<false>, std::max(most, 1),
             shared_from_this());
  step->AskForHelp(true);
}

// One thing that other threads, their kernels or asynchronous kernels have left.
template <class Runner>
bool Core::RunShared(StepState& step, Runner& runner) {
  Activation activation;
  Ended ended;
  Task task;
  switch (step.queue().Pop(&activation, &ended, &task)) {
    case ReadyQueue::Found::kUnit:
      runner.RunUnit(activation);
      break;
    case ReadyQueue::Found::kEndedKernel:
      runner.Resume(std::move(ended));
      break;
    case ReadyQueue::Found::kTask:
      task.run(task.object, task.argument);
      break;
    case ReadyQueue::Found::kNothing:
      return false;
  }
  runner.RunReady();
  return true;
}

// The caller's part of a step: all of it, if nobody comes to help.
template <bool kParallel, bool kTrace>
void Core::Call(StepState& step) {
  NodeRunner<kParallel, kTrace> runner(step, step.scratch(), 0);
  runner.StartRoot();
  runner.RunReady();
  while (!step.queue().finished()) {
    if (RunShared(step, runner)) continue;
    step.SetCallerIdle(true);
    const auto ready = [&step] { return step.queue().finished() || step.queue().MayHaveWork(); };
    if (IdlePoller* const idle = step.args().idle; idle != nullptr) step.queue().WorkIn(*idle);
    Spinner spinner;
    while (!ready()) {
      if (step.args().is_repeated || !spinner.Spin()) step.queue().Park();
    }
    step.SetCallerIdle(false);
  }
}

template <bool kTrace>
void Core::Help(void* object, uint64_t first) {
  StepState& step = *static_cast<StepState*>(object);
  std::unique_ptr<Scratch> scratch = step.TakeScratch();
  {
    NodeRunner<true, kTrace> runner(step, *scratch, step.NewThreadNumber());
    if (first != 0) {
      runner.StartRoot();
      runner.RunReady();
    }
    do {
      while (RunShared(step, runner)) {
      }
    } while (step.LeaveHelp());
  }
  step.GiveScratch(std::move(scratch));
  Status status;
  const std::function<void(Status)> done = step.TakeDone();
  if (done) {
    status = step.End();
    step.Release();
  }
  step.Release();
  if (done) done(std::move(status));
}

class CompiledExecutor : public Executor {
 public:
  CompiledExecutor(Plan plan, int threads)
      : core_(std::make_shared<Core>(std::move(plan), threads)) {}
  Status Run(const Step& step) override { return core_->Run(step); }
  void RunAsync(const Step& step, std::function<void(Status)> done) override {
    core_->RunAsync(step, std::move(done));
  }
  const Program& program() const override { return core_->plan().program; }
  MemoryPlan PlanMemory(const OutputBytes& bytes) const override {
    return thalweg::PlanMemory(core_->plan(), bytes);
  }

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace

Result<std::unique_ptr<Executor>> MakeExecutor(Program program, const ExecutorOptions& options) {
  ASSIGN_OR_RETURN(Plan plan,
                   Compile(std::move(program), {.threads = options.threads,
                                                .basic_blocks = options.basic_blocks,
                                                .structured_loops = options.structured_loops,
                                                .work = options.work}));
  return std::unique_ptr<Executor>(
      std::make_unique<CompiledExecutor>(std::move(plan), options.threads));
}

}  // namespace thalweg
