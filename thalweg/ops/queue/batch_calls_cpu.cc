// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/base/entropy.h"
#include "thalweg/ops/queue/batch_rows.h"
#include "thalweg/ops/queue/batch_timer.h"

namespace thalweg {
namespace {

struct BatchLimits {
  int64_t max_rows = 0;
  std::vector<int64_t> allowed;  // ascending, the last is max_rows; empty: any
  std::chrono::microseconds timeout{0};

  static Result<BatchLimits> Of(const KernelConstruction& c) {
    BatchLimits limits;
    ASSIGN_OR_RETURN(limits.max_rows, c.Attr<int64_t>("max_batch_size"));
    ASSIGN_OR_RETURN(limits.allowed, c.Attr<std::vector<int64_t>>("allowed_batch_sizes"));
    ASSIGN_OR_RETURN(limits.timeout, Micros(c, "batch_timeout_micros"));
    if (limits.max_rows < 1) {
      return InvalidArgument("max_batch_size must be positive, got ", limits.max_rows);
    }
    int64_t last = 0;
    for (const int64_t size : limits.allowed) {
      if (size <= last) {
        return InvalidArgument(
            "entries in allowed_batch_sizes must be positive and monotonically increasing, got ",
            size, " after ", last);
      }
      last = size;
    }
    if (!limits.allowed.empty() && last != limits.max_rows) {
      return InvalidArgument("final entry in allowed_batch_sizes must equal max_batch_size (",
                             limits.max_rows, "), got ", last);
    }
    return limits;
  }
  int64_t Padded(int64_t rows) const {
    const auto at = std::lower_bound(allowed.begin(), allowed.end(), rows);
    return at == allowed.end() ? rows : *at;
  }
};

// Where calls of Batch meet. A batch closes when it is full, when the next call does not fit into
// it, or when the time of one of its calls is over.
class Batcher final : public WaitLines {
 public:
  struct Closed {
    std::vector<std::vector<Tensor>> tasks;
    std::vector<int64_t> index;  // id, first row, last row + 1 of each task
    int64_t rows = 0;
  };
  struct Task : TimedWaiter {
    using TimedWaiter::TimedWaiter;
    std::vector<Tensor> inputs;
    int64_t id = 0;
    bool admitted = false;
    bool is_last = false;
    std::shared_ptr<const Closed> closed;
  };

  Batcher(std::string name, BatchLimits limits)
      : WaitLines({Order::kAny}), name_(std::move(name)), limits_(std::move(limits)) {}
  std::string DebugString() const override EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return StrCat("batch '", name_, "' (", open_.size(), " calls with ", rows_, " of ",
                  limits_.max_rows, " rows)");
  }

 private:
  Progress Advance(Waiter& waiter) override REQUIRES(mutex_) {
    auto& task = static_cast<Task&>(waiter);
    if (task.closed != nullptr) return Progress::kEnded;
    if (task.admitted) return Progress::kNone;
    task.status = Admit(task);
    return task.status.ok() ? Progress::kSome : Progress::kEnded;
  }
  void Withdraw(Waiter& waiter) override REQUIRES(mutex_) {
    auto& task = static_cast<Task&>(waiter);
    if (std::erase(open_, &task) > 0) rows_ -= task.inputs[0].dim(0);
  }
  Status Admit(Task& task) REQUIRES(mutex_) {
    const int64_t rows = task.inputs[0].dim(0);
    if (rows > limits_.max_rows) {
      return InvalidArgument("Task size ", rows, " is larger than maximum input batch size ",
                             limits_.max_rows);
    }
    if (rows > limits_.max_rows - rows_) Close();
    if (!open_.empty()) RETURN_IF_ERROR(CheckFits(task, *open_[0]));
    task.admitted = true;
    open_.push_back(&task);
    rows_ += rows;
    if (rows_ == limits_.max_rows || limits_.timeout.count() == 0) {
      Close();
    } else {
      const Deadline end = Deadline::After(task.timer->clock(), limits_.timeout);
      task.entry = task.timer->timer().Add(end, [this, &task] { TimeOut(task); });
    }
    return OkStatus();
  }
  static Status CheckFits(const Task& task, const Task& first) {
    const bool same =
        std::ranges::equal(task.inputs, first.inputs, [](const Tensor& a, const Tensor& b) {
          Dims x = a.shape().dims();
          x[0] = b.dim(0);
          return a.dtype() == b.dtype() && Shape(std::move(x)) == b.shape();
        });
    if (same) return OkStatus();
    return InvalidArgument(
        "the inputs of a batch must have the same types and, but for dimension "
        "0, the same shapes; those of another call in it have others");
  }
  void Close() REQUIRES(mutex_) {
    if (open_.empty()) return;
    auto closed = std::make_shared<Closed>();
    for (Task* task : open_) {
      const int64_t end = closed->rows + task->inputs[0].dim(0);
      closed->index.insert(closed->index.end(), {task->id, closed->rows, end});
      closed->rows = end;
      closed->tasks.push_back(task->inputs);
    }
    open_.back()->is_last = true;
    for (Task* task : open_) task->closed = closed;
    open_.clear();
    rows_ = 0;
  }
  // The task lives: its entry is taken away before it ends.
  void TimeOut(const Task& task) EXCLUDES(mutex_) {
    Ended ended;
    {
      MutexLock lock(mutex_);
      if (!task.in_line || task.closed != nullptr) return;
      Close();
      GoOn(&ended);
    }
    End(std::move(ended));
  }
  Status Finish(Waiter& waiter) override EXCLUDES(mutex_) {
    auto& task = static_cast<Task&>(waiter);
    Context& ctx = task.ctx;
    const Closed& batch = *task.closed;
    const int n = static_cast<int>(task.inputs.size());
    for (int k = 0; k < n; ++k) {
      std::vector<Tensor> parts;
      for (const auto& inputs : batch.tasks) parts.push_back(inputs[static_cast<size_t>(k)]);
      const Tensor& own = task.inputs[static_cast<size_t>(k)];
      ASSIGN_OR_RETURN(Tensor rows,
                       task.is_last ? JoinRows(ctx.allocator(), parts, limits_.Padded(batch.rows))
                                    : CutRows(ctx.allocator(), own, 0, 0));
      ctx.set_output(k, std::move(rows));
    }
    const size_t numbers = task.is_last ? batch.index.size() : 0;
    ctx.set_output(n, Tensor::Of<int64_t>({batch.index.data(), numbers},
                                          Shape{static_cast<int64_t>(numbers / 3), 3}));
    ctx.set_output(n + 1, Tensor::Scalar(task.id));
    return OkStatus();
  }

  const std::string name_;
  const BatchLimits limits_;
  std::vector<Task*> open_ GUARDED_BY(mutex_);  // those admitted that wait, as they came
  int64_t rows_ GUARDED_BY(mutex_) = 0;
};

class BatchCpu final : public WaitingKernel {
 public:
  BatchCpu(ResourceName name, BatchLimits limits, RefPtr<BatchTimer> timer)
      : name_(std::move(name)), limits_(std::move(limits)), timer_(std::move(timer)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(ResourceName name, ResourceName::Of(c));
    ASSIGN_OR_RETURN(BatchLimits limits, BatchLimits::Of(c));
    ASSIGN_OR_RETURN(RefPtr<BatchTimer> timer, TimerOf(c.resources()));
    return std::unique_ptr<Kernel>(
        std::make_unique<BatchCpu>(std::move(name), std::move(limits), std::move(timer)));
  }
  std::optional<Status> TryCompute(Context& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Shape shape = ctx.input(i).shape();
      if (shape.rank() == 0) {
        return InvalidArgument("Batching input tensors must have at least one dimension; input ", i,
                               " is a scalar");
      }
      if (shape.dim(0) != ctx.input(0).dim(0)) {
        return InvalidArgument(
            "Batching input tensors supplied in a given op invocation must have equal "
            "0th-dimension size; input 0 has ",
            ctx.input(0).dim(0), ", input ", i, " has ", shape.dim(0));
      }
      if (shape.dim(0) == 0) return InvalidArgument("a call of Batch brings at least one row");
    }
    return std::nullopt;
  }
  void Wait(Context& ctx, Done done) override {
    const Result<RefPtr<Batcher>> place = MeetingPlace<Batcher>(ctx, name_, limits_);
    if (!place.ok()) return std::move(done)(place.status());
    auto task = std::make_unique<Batcher::Task>(0, ctx, std::move(done));
    task->timer = timer_.get();
    task->id = static_cast<int64_t>(RandomSeed());
    for (int i = 0; i < ctx.num_inputs(); ++i) task->inputs.push_back(ctx.input(i));
    (*place)->Join(std::move(task));
  }
  std::string WaitsFor(Context& ctx) const override {
    const Result<RefPtr<Batcher>> place = MeetingPlace<Batcher>(ctx, name_, limits_);
    return place.ok() ? (*place)->DebugString() : "";
  }

 private:
  const ResourceName name_;
  const BatchLimits limits_;
  const RefPtr<BatchTimer> timer_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(batch_calls, cpu) { registry.Add<BatchCpu>("Batch", kCpu); }
