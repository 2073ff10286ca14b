// SPDX-License-Identifier: Apache-2.0
// Batcher: where the calls of concurrent steps meet and become batches. A batch closes when it is
// full, when the next call does not fit into it, or when the time of one of its calls is over.
//
//   struct RowBatcher final : Batcher {
//     using Batcher::Batcher;
//     Status Deliver(Task& task) override;
//     static Status WithoutRows(Context&) { return OkStatus(); }
//   };
//   registry.Add<BatchKernel<RowBatcher>>("Batch", kCpu);
//
// Deliver makes the outputs of a task whose batch is closed; the one that came last leads it.
// Ownership: shared by the container and who waits; the tasks of a batch share it.
// Threads: as WaiterQueues.
// Errors: InvalidArgument for a call with more rows than a batch, or whose rows are of another
// shape than those that wait; that call ends alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/entropy.h"
#include "thalweg/ops/queue/batch_timer.h"

namespace thalweg {

struct BatchLimits {
  int64_t max_rows = 0;
  std::vector<int64_t> allowed;  // ascending, the last is max_rows; empty: any
  int64_t split_rows = 0;        // calls up to so many rows would be split
  std::chrono::microseconds timeout{0};

  static Result<BatchLimits> Of(const KernelConstruction& c);
  int64_t Padded(int64_t rows) const;
};

class Batcher : public WaiterQueues {
 public:
  struct Closed {
    std::vector<std::vector<Tensor>> tasks;
    std::vector<int64_t> index;  // id, first row, last row + 1 of each task
    int64_t rows = 0;
    int64_t padded_rows = 0;
    RefPtr<Resource> shared;  // what a batcher makes for its tasks, or null
  };
  struct Task : TimedWaiter {
    using TimedWaiter::TimedWaiter;
    std::vector<Tensor> inputs;
    int64_t id = 0;
    size_t number = 0;  // of the task in its batch
    bool admitted = false;
    bool leads = false;
    std::shared_ptr<const Closed> closed;
  };

  Batcher(std::string name, BatchLimits limits)
      : WaiterQueues({Order::kAny}), name_(std::move(name)), limits_(std::move(limits)) {}
  std::string DebugString() const override EXCLUDES(mutex_);

 protected:
  virtual Status Deliver(Task& task) = 0;
  virtual RefPtr<Resource> MakeShared(const Closed&) { return {}; }
  // Output k is input k: of the whole batch, padded, for the task that leads, no rows for others.
  static Status SetRows(Task& task);

 private:
  Progress Advance(Waiter& waiter) override REQUIRES(mutex_);
  void Withdraw(Waiter& waiter) override REQUIRES(mutex_);
  Status Finish(Waiter& waiter) final EXCLUDES(mutex_);
  Status Admit(Task& task) REQUIRES(mutex_);
  void Close() REQUIRES(mutex_);
  void TimeOut(const Task& task) EXCLUDES(mutex_);

  const std::string name_;
  const BatchLimits limits_;
  std::vector<Task*> open_ GUARDED_BY(mutex_);  // those admitted that wait, as they came
  int64_t rows_ GUARDED_BY(mutex_) = 0;
};

// All inputs have rows, as many as each other.
Status CheckRows(const Context& ctx);

// A call that joins the batcher of its name, a B. B::WithoutRows(ctx) ends one that has no rows.
template <class B>
class BatchKernel final : public WaitingKernel {
 public:
  BatchKernel(ResourceName name, BatchLimits limits, RefPtr<BatchTimer> timer)
      : name_(std::move(name)), limits_(std::move(limits)), timer_(std::move(timer)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(ResourceName name, ResourceName::Of(c));
    ASSIGN_OR_RETURN(BatchLimits limits, BatchLimits::Of(c));
    ASSIGN_OR_RETURN(RefPtr<BatchTimer> timer, TimerOf(c.resources()));
    return std::unique_ptr<Kernel>(
        std::make_unique<BatchKernel>(std::move(name), std::move(limits), std::move(timer)));
  }
  std::optional<Status> TryCompute(Context& ctx) override {
    Status status = CheckRows(ctx);
    if (!status.ok()) return status;
    if (ctx.input(0).dim(0) == 0) return B::WithoutRows(ctx);
    return std::nullopt;
  }
  void Wait(Context& ctx, Done done) override {
    const Result<RefPtr<B>> place = SharedPlace<B>(ctx, name_, limits_);
    if (!place.ok()) return std::move(done)(place.status());
    auto task = std::make_unique<Batcher::Task>(0, ctx, std::move(done));
    task->timer = timer_.get();
    task->id = static_cast<int64_t>(RandomSeed());
    for (int i = 0; i < ctx.num_inputs(); ++i) task->inputs.push_back(ctx.input(i));
    (*place)->Join(std::move(task));
  }
  std::string WaitsFor(Context& ctx) const override {
    const Result<RefPtr<B>> place = SharedPlace<B>(ctx, name_, limits_);
    return place.ok() ? (*place)->DebugString() : "";
  }

 private:
  const ResourceName name_;
  const BatchLimits limits_;
  const RefPtr<BatchTimer> timer_;
};

}  // namespace thalweg
