// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/batcher.h"
#include "thalweg/resources/batch_rows.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {
namespace {

// Results of one batch, on their way from the step that leads it to the others.
class BatchResults final : public WaiterQueues {
 public:
  struct Call : Waiter {
    Call(size_t n, Context& c, Done d) : Waiter(0, c, std::move(d)), number(n) {}
    const size_t number;
    std::vector<Tensor> taken;
  };

  explicit BatchResults(const Batcher::Closed& batch)
      : WaiterQueues({Order::kAny}), index_(batch.index), padded_rows_(batch.padded_rows) {}
  std::string DebugString() const override {
    return StrCat("results of a batch of ", num_calls(), " calls, which the step of one computes");
  }
  size_t num_calls() const { return index_.size() / 3; }
  int64_t padded_rows() const { return padded_rows_; }
  int64_t begin(size_t call) const { return index_[call * 3 + 1]; }
  int64_t end(size_t call) const { return index_[call * 3 + 2]; }

  // From now on the others fail for the reason for which the leader's step does.
  void FollowLeader(Context& ctx) {
    CancellationManager& leader = *ctx.step().cancellation;
    const auto self = RefPtr<BatchResults>::Share(this);
    if (!leader.Register([self, &leader] { self->End(leader.Reason()); }, &token_)) {
      End(leader.Reason());
    }
  }
  void StopFollowing(Context& ctx) {
    if (token_ != 0) ctx.step().cancellation->Deregister(token_);
  }
  // What the others get: an error, or the rows in `pieces` of each.
  void End(Status status, std::vector<std::vector<Tensor>> pieces = {}) EXCLUDES(mutex_) {
    Ended ended;
    {
      MutexLock lock(mutex_);
      if (over_) return;
      over_ = true;
      status_ = std::move(status);
      pieces_ = std::move(pieces);
      AdvanceAll(&ended);
    }
    WaiterQueues::End(std::move(ended));
  }

 private:
  Progress Advance(Waiter& waiter) override REQUIRES(mutex_) {
    if (!over_) return Progress::kNone;
    auto& call = static_cast<Call&>(waiter);
    call.status = status_;
    if (status_.ok()) call.taken = std::move(pieces_[call.number]);
    return Progress::kEnded;
  }
  Status Finish(Waiter& waiter) override EXCLUDES(mutex_) {
    auto& call = static_cast<Call&>(waiter);
    if (static_cast<int>(call.taken.size()) != call.ctx.num_outputs()) {
      return InvalidArgument("the batch of this call gives ", call.taken.size(),
                             " results, this call expects ", call.ctx.num_outputs());
    }
    for (size_t k = 0; k < call.taken.size(); ++k) {
      call.ctx.set_output(static_cast<int>(k), std::move(call.taken[k]));
    }
    return OkStatus();
  }

  const std::vector<int64_t> index_;  // as that of the batch
  const int64_t padded_rows_;
  // The leader's step may end before this does: so this is no ScopedCancellation.
  CancellationManager::Token token_ = 0;
  bool over_ GUARDED_BY(mutex_) = false;
  Status status_ GUARDED_BY(mutex_);
  std::vector<std::vector<Tensor>> pieces_ GUARDED_BY(mutex_);
};

// One call's part in a batch.
struct BatchShare final : VariantValue {
  BatchShare(RefPtr<BatchResults> r, size_t n) : results(std::move(r)), number(n) {}
  std::string TypeName() const override { return "thalweg::BatchShare"; }
  std::string DebugString() const override {
    return StrCat("call ", number, " of ", results->num_calls(), " of a batch");
  }
  const RefPtr<BatchResults> results;
  const size_t number;
};

Result<const BatchShare*> ShareOf(const Context& ctx) {
  const Tensor& share = ctx.input(0);
  const BatchShare* found = share.dtype() == DType::kVariant && share.num_elements() == 1
                                ? share.scalar<Variant>().As<BatchShare>()
                                : nullptr;
  if (found == nullptr) {
    return InvalidArgument("input 0 must be a share of a batch, got ", share.ToString());
  }
  return found;
}

class FunctionBatcher final : public Batcher {
 public:
  using Batcher::Batcher;
  // Is in no batch: has an empty share.
  static Status WithoutRows(Context& ctx) {
    const int n = ctx.num_inputs();
    for (int k = 0; k < n; ++k) ctx.set_output(k, ctx.input(k));
    ctx.set_output(n, Tensor::Scalar(Variant()));
    ctx.set_output(n + 1, Tensor::Scalar(false));
    return OkStatus();
  }

 private:
  RefPtr<Resource> MakeShared(const Closed& closed) override {
    return RefPtr<Resource>::Adopt(std::make_unique<BatchResults>(closed).release());
  }
  Status Deliver(Task& task) override {
    auto results =
        RefPtr<BatchResults>::Share(static_cast<BatchResults*>(task.closed->shared.get()));
    if (task.leads) results->FollowLeader(task.ctx);
    RETURN_IF_ERROR(SetRows(task));
    const int n = static_cast<int>(task.inputs.size());
    task.ctx.set_output(n, Tensor::Scalar(Variant(std::make_shared<const BatchShare>(
                               std::move(results), task.number))));
    task.ctx.set_output(n + 1, Tensor::Scalar(task.leads));
    return OkStatus();
  }
};

Status CheckResult(const Tensor& result, int number, int64_t rows) {
  if (result.shape().rank() == 0) {
    return FailedPrecondition("Batched output tensor has 0 dimensions: result ", number,
                              " of the function is a scalar");
  }
  if (result.dim(0) == rows) return OkStatus();
  return FailedPrecondition(
      "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of "
      "the input tensors: result ",
      number, " of the function has shape ", result.shape(), ", the batch ", rows, " rows");
}

Status ScatterBatch(Context& ctx) {
  ASSIGN_OR_RETURN(const BatchShare* share, ShareOf(ctx));
  BatchResults& results = *share->results;
  std::vector<std::vector<Tensor>> pieces(results.num_calls());
  for (int k = 0; k < ctx.num_outputs(); ++k) {
    const Tensor& result = ctx.input(k + 1);
    RETURN_IF_ERROR(CheckResult(result, k, results.padded_rows()));
    for (size_t call = 0; call < pieces.size(); ++call) {
      ASSIGN_OR_RETURN(Tensor rows,
                       CutRows(ctx.allocator(), result, results.begin(call), results.end(call)));
      pieces[call].push_back(std::move(rows));
    }
  }
  for (int k = 0; k < ctx.num_outputs(); ++k) {
    ctx.set_output(k, std::move(pieces[share->number][static_cast<size_t>(k)]));
  }
  results.StopFollowing(ctx);
  results.End(OkStatus(), std::move(pieces));
  return OkStatus();
}

class AwaitBatchCpu final : public WaitingKernel {
 public:
  explicit AwaitBatchCpu(const KernelConstruction& c) {
    for (int k = 0; k < c.node().num_outputs(); ++k) types_.push_back(c.output_type(k));
  }
  std::optional<Status> TryCompute(Context& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.dtype() == DType::kVariant && input.num_elements() == 1 &&
        input.scalar<Variant>().get() == nullptr) {
      return NoRows(ctx);
    }
    const Result<const BatchShare*> share = ShareOf(ctx);
    if (!share.ok()) return share.status();
    return std::nullopt;
  }
  void Wait(Context& ctx, Done done) override {
    const BatchShare& share = **ShareOf(ctx);
    share.results->Join(std::make_unique<BatchResults::Call>(share.number, ctx, std::move(done)));
  }
  std::string WaitsFor(Context& ctx) const override {
    const Result<const BatchShare*> share = ShareOf(ctx);
    return share.ok() ? (*share)->results->DebugString() : "";
  }

 private:
  // What a call without rows gets, as from TensorFlow: nothing is known of more dimensions.
  Status NoRows(Context& ctx) const {
    for (size_t k = 0; k < types_.size(); ++k) {
      RETURN_IF_ERROR(ctx.AllocateOutput(static_cast<int>(k), types_[k], Shape{0}).status());
    }
    return OkStatus();
  }

  std::vector<DType> types_;
};

// Other operations stand for it in a step.
Status NotExpanded(Context&) {
  return FailedPrecondition("a call of a function runs only as part of a session's step");
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(batch_function, cpu) {
  registry.AddFunction<NotExpanded>("BatchFunction", kCpu);
  registry.Add<BatchKernel<FunctionBatcher>>("_GatherBatch", kCpu);
  registry.AddFunction<ScatterBatch>("_ScatterBatch", kCpu);
  registry.Add<AwaitBatchCpu>("_AwaitBatch", kCpu);
}
