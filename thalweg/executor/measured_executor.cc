// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/measured_executor.h"

#include <atomic>

#include "thalweg/base/mutex.h"
#include "thalweg/executor/node_costs.h"

namespace thalweg {
namespace {

constexpr int kFirstTimed = 1;  // step 0 is the cold one
constexpr int kTimed = 3;
constexpr uint32_t kTimedCalls = 1000;  // of a node in a step

// Nobody waits for a second plan.
ExecutorOptions WithoutEnd(ExecutorOptions options) {
  options.work = nullptr;
  return options;
}

// The plans of one program.
class Plans {
 public:
  Plans(std::unique_ptr<Executor> guessed, const ExecutorOptions& options)
      : options_(WithoutEnd(options)),
        guessed_(std::move(guessed)),
        costs_(guessed_->program().nodes.size()) {
    current_.store(guessed_.get(), std::memory_order_release);
  }

  Executor& current() const { return *current_.load(std::memory_order_acquire); }

  // True when this was the last step to be timed and the plan should be compiled again.
  bool Add(StepTrace& trace) EXCLUDES(mutex_) {
    const std::vector<NodeRecord> records = trace.TakeRecords();
    MutexLock lock(mutex_);
    costs_.Add(records, trace.Calls());
    return ++timed_ == kTimed && costs_.Contradict(guessed_->program());
  }

  void CompileAgain() EXCLUDES(mutex_) {
    Program program = guessed_->program();
    {
      MutexLock lock(mutex_);
      if (closed_) return;
      compiling_ = true;
      costs_.Correct(&program);
    }
    Result<std::unique_ptr<Executor>> made = MakeExecutor(std::move(program), options_);
    MutexLock lock(mutex_);
    // What compiled once does so again; if not, the first plan stays.
    if (made.ok()) {
      measured_ = *std::move(made);
      current_.store(measured_.get(), std::memory_order_release);
    }
    compiling_ = false;
    ended_.NotifyAll();
  }

  void Close() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    closed_ = true;
    while (compiling_) ended_.Wait(mutex_);
  }

 private:
  const ExecutorOptions options_;
  const std::unique_ptr<Executor> guessed_;  // steps may run it as long as this lives
  std::atomic<Executor*> current_{nullptr};
  Mutex mutex_;
  CondVar ended_;
  NodeCosts costs_ GUARDED_BY(mutex_);
  std::unique_ptr<Executor> measured_ GUARDED_BY(mutex_);
  int timed_ GUARDED_BY(mutex_) = 0;
  bool compiling_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
};

class MeasuredExecutor : public Executor {
 public:
  MeasuredExecutor(std::unique_ptr<Executor> guessed, const ExecutorOptions& options,
                   const Clock* clock)
      : plans_(std::make_shared<Plans>(std::move(guessed), options)), clock_(clock) {}
  ~MeasuredExecutor() override { plans_->Close(); }

  Status Run(const Step& step) override {
    Executor& executor = plans_->current();
    // Nothing to decide for who runs alone.
    if (steps_.load(std::memory_order_relaxed) >= kFirstTimed + kTimed || step.queue == nullptr ||
        step.queue->Parallelism() == 0 || step.trace != nullptr) {
      return executor.Run(step);
    }
    return RunEarly(executor, step);
  }
  void RunAsync(const Step& step, std::function<void(Status)> done) override {
    plans_->current().RunAsync(step, std::move(done));
  }
  const Program& program() const override { return plans_->current().program(); }
  MemoryPlan PlanMemory(const OutputBytes& bytes) const override {
    return plans_->current().PlanMemory(bytes);
  }

 private:
  Status RunEarly(Executor& executor, const Step& step) {
    const int number = steps_.fetch_add(1, std::memory_order_relaxed);
    if (number < kFirstTimed || number >= kFirstTimed + kTimed) return executor.Run(step);
    StepTrace trace(clock_, executor.program().nodes.size(), kTimedCalls);
    Step timed = step;
    timed.trace = &trace;
    Status status = executor.Run(timed);
    if (plans_->Add(trace)) {
      ScheduleClosure(*step.queue, [plans = plans_] { plans->CompileAgain(); });
    }
    return status;
  }

  const std::shared_ptr<Plans> plans_;
  const Clock* const clock_;
  std::atomic<int> steps_{0};
};

}  // namespace

Result<std::unique_ptr<Executor>> MakeMeasuredExecutor(Program program,
                                                       const ExecutorOptions& options,
                                                       const Clock* clock) {
  ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, MakeExecutor(std::move(program), options));
  if (options.threads == 0) return executor;
  return std::unique_ptr<Executor>(
      std::make_unique<MeasuredExecutor>(std::move(executor), options, clock));
}

}  // namespace thalweg
