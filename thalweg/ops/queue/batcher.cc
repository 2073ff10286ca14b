// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/batcher.h"

#include <algorithm>

#include "thalweg/resources/batch_rows.h"

namespace thalweg {
namespace {

Status CheckFits(const Batcher::Task& task, const Batcher::Task& first) {
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

}  // namespace

Result<BatchLimits> BatchLimits::Of(const KernelConstruction& c) {
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
  const Result<bool> splits = c.Attr<bool>("enable_large_batch_splitting");
  if (splits.ok() && *splits) {
    if (last > limits.max_rows) {
      return InvalidArgument("final entry in allowed_batch_sizes must not exceed max_batch_size (",
                             limits.max_rows, "), got ", last);
    }
    limits.split_rows = limits.max_rows;
    if (last > 0) limits.max_rows = last;
  } else if (!limits.allowed.empty() && last != limits.max_rows) {
    return InvalidArgument("final entry in allowed_batch_sizes must equal max_batch_size (",
                           limits.max_rows, "), got ", last);
  }
  return limits;
}

int64_t BatchLimits::Padded(int64_t rows) const {
  const auto at = std::lower_bound(allowed.begin(), allowed.end(), rows);
  return at == allowed.end() ? rows : *at;
}

std::string Batcher::DebugString() const {
  MutexLock lock(mutex_);
  return StrCat("batch '", name_, "' (", open_.size(), " calls with ", rows_, " of ",
                limits_.max_rows, " rows)");
}

WaiterQueues::Progress Batcher::Advance(Waiter& waiter) {
  auto& task = static_cast<Task&>(waiter);
  if (task.closed != nullptr) return Progress::kEnded;
  if (task.admitted) return Progress::kNone;
  task.status = Admit(task);
  return task.status.ok() ? Progress::kSome : Progress::kEnded;
}

void Batcher::Withdraw(Waiter& waiter) {
  auto& task = static_cast<Task&>(waiter);
  if (std::erase(open_, &task) > 0) rows_ -= task.inputs[0].dim(0);
}

Status Batcher::Admit(Task& task) {
  const int64_t rows = task.inputs[0].dim(0);
  if (rows > limits_.max_rows) {
    if (rows <= limits_.split_rows) {
      return Unimplemented("a call of ", rows, " rows would have to be split, as ",
                           "enable_large_batch_splitting says, into batches of at most ",
                           limits_.max_rows, " rows");
    }
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

void Batcher::Close() {
  if (open_.empty()) return;
  auto closed = std::make_shared<Closed>();
  for (Task* task : open_) {
    const int64_t end = closed->rows + task->inputs[0].dim(0);
    closed->index.insert(closed->index.end(), {task->id, closed->rows, end});
    closed->rows = end;
    task->number = closed->tasks.size();
    closed->tasks.push_back(task->inputs);
  }
  closed->padded_rows = limits_.Padded(closed->rows);
  closed->shared = MakeShared(*closed);
  open_.back()->leads = true;
  for (Task* task : open_) task->closed = closed;
  open_.clear();
  rows_ = 0;
}

// The task lives: its entry is taken away before it ends.
void Batcher::TimeOut(const Task& task) {
  Ended ended;
  {
    MutexLock lock(mutex_);
    if (!task.in_line || task.closed != nullptr) return;
    Close();
    AdvanceAll(&ended);
  }
  End(std::move(ended));
}

Status Batcher::Finish(Waiter& waiter) { return Deliver(static_cast<Task&>(waiter)); }

Status Batcher::SetRows(Task& task) {
  Context& ctx = task.ctx;
  for (size_t k = 0; k < task.inputs.size(); ++k) {
    std::vector<Tensor> parts;
    for (const auto& inputs : task.closed->tasks) parts.push_back(inputs[k]);
    ASSIGN_OR_RETURN(Tensor rows, task.leads
                                      ? JoinRows(ctx.allocator(), parts, task.closed->padded_rows)
                                      : CutRows(ctx.allocator(), task.inputs[k], 0, 0));
    ctx.set_output(static_cast<int>(k), std::move(rows));
  }
  return OkStatus();
}

Status CheckRows(const Context& ctx) {
  if (ctx.num_inputs() == 0) return InvalidArgument("a call of a batch brings at least one input");
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
  }
  return OkStatus();
}

}  // namespace thalweg
