// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <unordered_set>

#include "thalweg/ops/queue/batch_timer.h"
#include "thalweg/resources/batch_rows.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

struct Piece {
  int64_t id = 0, begin = 0, end = 0;
};

// The rows of input 1, within `rows`; none: this step has not the batch.
Result<std::vector<Piece>> PiecesOf(const Context& ctx, int64_t rows) {
  const Tensor& index = ctx.input(1);
  if (index.shape().rank() != 2 || index.dim(1) != 3) {
    return InvalidArgument("batch_index must have shape [tasks, 3], found ", index.shape());
  }
  const auto numbers = index.flat<int64_t>();
  std::vector<Piece> pieces;
  std::unordered_set<int64_t> ids;
  int64_t last = 0;
  for (int64_t i = 0; i < index.dim(0); ++i) {
    const int64_t* at = numbers.data() + i * 3;
    if (at[1] < last || at[1] > at[2] || at[2] > rows) {
      return InvalidArgument("row ", i, " of batch_index says rows ", at[1], " to ", at[2],
                             " of a batch of ", rows, " rows of which ", last, " are named before");
    }
    if (!ids.insert(at[0]).second) {
      return InvalidArgument("batch_index names the id ", at[0], " twice");
    }
    last = at[2];
    pieces.push_back({at[0], at[1], at[2]});
  }
  return pieces;
}

// Tensors by id that one step brings and another takes. What nobody takes goes when its time is
// over, or when it is the oldest of too many.
class Exchange final : public WaiterQueues {
 public:
  // Brings `brought`, then waits for all of `wanted`.
  struct Call : TimedWaiter {
    using TimedWaiter::TimedWaiter;
    std::vector<std::pair<int64_t, Tensor>> brought;
    std::vector<int64_t> wanted;
    std::optional<std::chrono::microseconds> timeout;
    std::function<Status(Context&, std::vector<Tensor>)> finish;
    bool admitted = false;
    std::vector<Tensor> taken;
  };

  explicit Exchange(std::string name) : WaiterQueues({Order::kAny}), name_(std::move(name)) {}
  std::string DebugString() const override EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return StrCat("pieces of batches '", name_, "' (", kept_.size(), " that nobody took yet)");
  }

 private:
  static constexpr size_t kMostKept = 4096;
  struct Kept {
    Tensor tensor;
    Deadline end;
    uint64_t number;
  };

  Progress Advance(Waiter& waiter) override REQUIRES(mutex_) {
    auto& call = static_cast<Call&>(waiter);
    const bool is_new = !call.admitted;
    if (is_new) Admit(call);
    const bool all = std::ranges::all_of(
        call.wanted, [this](int64_t id) REQUIRES(mutex_) { return kept_.contains(id); });
    if (!all) return is_new ? Progress::kSome : Progress::kNone;
    for (const int64_t id : call.wanted)
      call.taken.push_back(std::move(kept_.extract(id).mapped().tensor));
    return Progress::kEnded;
  }
  void Admit(Call& call) REQUIRES(mutex_) {
    call.admitted = true;
    const Clock& clock = call.timer->clock();
    std::erase_if(kept_, [&](const auto& kept) { return kept.second.end.HasPassed(clock); });
    const Deadline end = call.timeout ? Deadline::After(clock, *call.timeout) : Deadline::Never();
    for (auto& [id, tensor] : call.brought) kept_[id] = {std::move(tensor), end, next_number_++};
    while (kept_.size() > kMostKept) {
      kept_.erase(
          std::ranges::min_element(kept_, {}, [](const auto& kept) { return kept.second.number; }));
    }
    if (!end.IsNever() && !call.wanted.empty()) {
      call.entry = call.timer->timer().Add(end, [this, &call] { TimeOut(call); });
    }
  }
  void TimeOut(Call& call) EXCLUDES(mutex_) {
    Ended ended;
    {
      MutexLock lock(mutex_);
      if (!call.in_line) return;
      // Those who wait for nothing that is there are as they were; this one ends.
      call.status = DeadlineExceeded("Batched data did not arrive within timeout window.");
      call.wanted.clear();
      AdvanceAll(&ended);
    }
    End(std::move(ended));
  }
  Status Finish(Waiter& waiter) override EXCLUDES(mutex_) {
    auto& call = static_cast<Call&>(waiter);
    return call.finish(call.ctx, std::move(call.taken));
  }

  const std::string name_;
  std::map<int64_t, Kept> kept_ GUARDED_BY(mutex_);
  uint64_t next_number_ GUARDED_BY(mutex_) = 0;
};

class ExchangeKernel : public WaitingKernel {
 public:
  ExchangeKernel(ResourceName name, RefPtr<BatchTimer> timer,
                 std::optional<std::chrono::microseconds> timeout)
      : name_(std::move(name)), timer_(std::move(timer)), timeout_(timeout) {}
  std::optional<Status> TryCompute(Context&) final { return std::nullopt; }
  void Wait(Context& ctx, Done done) final {
    const Result<RefPtr<Exchange>> place = SharedPlace<Exchange>(ctx, name_);
    auto call = std::make_unique<Exchange::Call>(0, ctx, std::move(done));
    Status status = place.status();
    if (status.ok()) status = Fill(ctx, *call);
    if (!status.ok()) return std::move(call->done)(std::move(status));
    call->timer = timer_.get();
    call->timeout = timeout_;
    (*place)->Join(std::move(call));
  }
  std::string WaitsFor(Context& ctx) const final {
    const Result<RefPtr<Exchange>> place = SharedPlace<Exchange>(ctx, name_);
    return place.ok() ? (*place)->DebugString() : "";
  }

 protected:
  virtual Status Fill(Context& ctx, Exchange::Call& call) = 0;

 private:
  const ResourceName name_;
  const RefPtr<BatchTimer> timer_;
  const std::optional<std::chrono::microseconds> timeout_;
};

template <class K>
Result<std::unique_ptr<Kernel>> MakeExchange(const KernelConstruction& c,
                                             std::optional<std::chrono::microseconds> timeout) {
  ASSIGN_OR_RETURN(ResourceName name, ResourceName::Of(c));
  ASSIGN_OR_RETURN(RefPtr<BatchTimer> timer, TimerOf(c.resources()));
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(name), std::move(timer), timeout));
}

class UnbatchCpu final : public ExchangeKernel {
 public:
  using ExchangeKernel::ExchangeKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::chrono::microseconds timeout, Micros(c, "timeout_micros"));
    return MakeExchange<UnbatchCpu>(c, timeout);
  }

 private:
  Status Fill(Context& ctx, Exchange::Call& call) override {
    const Tensor& batch = ctx.input(0);
    if (batch.shape().rank() == 0) {
      return InvalidArgument("batched_tensor must have at least one dimension, found a scalar");
    }
    ASSIGN_OR_RETURN(const int64_t id, IntScalar(ctx.input(2), "id"));
    ASSIGN_OR_RETURN(const std::vector<Piece> pieces, PiecesOf(ctx, batch.dim(0)));
    for (const Piece& piece : pieces) {
      ASSIGN_OR_RETURN(Tensor rows, CutRows(ctx.allocator(), batch, piece.begin, piece.end));
      call.brought.emplace_back(piece.id, std::move(rows));
    }
    call.wanted = {id};
    call.finish = [](Context& c, std::vector<Tensor> taken) {
      c.set_output(0, std::move(taken[0]));
      return OkStatus();
    };
    return OkStatus();
  }
};

// The gradient of a batch: those of its pieces, zeros for rows that are in none.
Status JoinGradients(Context& ctx, const std::vector<Piece>& pieces, std::vector<Tensor> grads) {
  const Tensor& batch = ctx.input(0);
  int64_t rows = 0;
  for (size_t i = 0; i < grads.size(); ++i) {
    Dims wanted = batch.shape().dims();
    wanted[0] = pieces[i].end - pieces[i].begin;
    if (grads[i].shape() != Shape(wanted) || pieces[i].begin != rows) {
      return InvalidArgument("the gradient of rows ", pieces[i].begin, " to ", pieces[i].end,
                             " of a batch of shape ", batch.shape(), " has shape ",
                             grads[i].shape(), "; rows must follow each other");
    }
    rows = pieces[i].end;
  }
  if (rows < batch.dim(0)) {
    Dims rest = batch.shape().dims();
    rest[0] = batch.dim(0) - rows;
    ASSIGN_OR_RETURN(Tensor zeros, ctx.AllocateTemporary(batch.dtype(), Shape(std::move(rest))));
    if (IsPlain(batch.dtype())) std::memset(zeros.mutable_raw_data(), 0, zeros.bytes());
    grads.push_back(std::move(zeros));
  }
  ASSIGN_OR_RETURN(Tensor whole, JoinRows(ctx.allocator(), grads, batch.dim(0)));
  ctx.set_output(0, std::move(whole));
  return OkStatus();
}

class UnbatchGradCpu final : public ExchangeKernel {
 public:
  using ExchangeKernel::ExchangeKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeExchange<UnbatchGradCpu>(c, std::nullopt);
  }

 private:
  Status Fill(Context& ctx, Exchange::Call& call) override {
    const Tensor &batch = ctx.input(0), &grad = ctx.input(2);
    if (batch.shape().rank() == 0 || grad.shape().rank() == 0) {
      return InvalidArgument("original_input and grad must have at least one dimension, found ",
                             batch.shape(), " and ", grad.shape());
    }
    ASSIGN_OR_RETURN(const int64_t id, IntScalar(ctx.input(3), "id"));
    ASSIGN_OR_RETURN(std::vector<Piece> pieces, PiecesOf(ctx, batch.dim(0)));
    call.brought.emplace_back(id, grad);
    if (pieces.empty()) {
      call.finish = [](Context& c, std::vector<Tensor>) -> Status {
        ASSIGN_OR_RETURN(Tensor none, CutRows(c.allocator(), c.input(2), 0, 0));
        c.set_output(0, std::move(none));
        return OkStatus();
      };
      return OkStatus();
    }
    for (const Piece& piece : pieces) call.wanted.push_back(piece.id);
    call.finish = [pieces = std::move(pieces)](Context& c, std::vector<Tensor> taken) {
      return JoinGradients(c, pieces, std::move(taken));
    };
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(unbatch, cpu) {
  registry.Add<UnbatchCpu>("Unbatch", kCpu);
  registry.Add<UnbatchGradCpu>("UnbatchGrad", kCpu);
}
