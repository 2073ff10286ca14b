// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "thalweg/ops/queue/queue_node.h"
#include "thalweg/ops/queue/reader.h"
#include "thalweg/ops/queue/tensor_queue.h"
#include "thalweg/tensor/inlined_tensors.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/legacy_scalar.h"
#include "thalweg/tensor/text_heap.h"

namespace thalweg {
namespace {

std::string Listed(const std::vector<DType>& types) {
  std::string text;
  for (const DType dtype : types) text += StrCat(text.empty() ? "" : ", ", dtype);
  return text;
}

class QueueKernel : public WaitingKernel {
 public:
  explicit QueueKernel(std::vector<DType> types) : types_(std::move(types)) {}

  std::optional<Status> TryCompute(Context& ctx) final {
    if (TensorQueue* const queue = BorrowedResource<TensorQueue>(ctx)) {
      return TryChecked(ctx, *queue);
    }
    const Result<RefPtr<TensorQueue>> queue = ResourceOf<TensorQueue>(ctx);
    if (!queue.ok()) return queue.status();
    return TryChecked(ctx, **queue);
  }
  void Wait(Context& ctx, Done done) final {
    const Result<RefPtr<TensorQueue>> queue = ResourceOf<TensorQueue>(ctx);
    if (!queue.ok()) return std::move(done)(queue.status());
    (*queue)->Join(MakeWaiter(ctx, std::move(done)));
  }
  std::string WaitsFor(Context& ctx) const final {
    const Result<RefPtr<TensorQueue>> queue = ResourceOf<TensorQueue>(ctx);
    return queue.ok() ? (*queue)->DebugString() : "";
  }

 protected:
  // Nothing when it must wait; the signature has been checked.
  virtual std::optional<Status> Try(Context& ctx, TensorQueue& queue) = 0;
  virtual std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) = 0;

 private:
  std::optional<Status> TryChecked(Context& ctx, TensorQueue& queue) {
    if (queue.spec().types != types_) return SignatureMismatch(queue.spec());
    return Try(ctx, queue);
  }
  Status SignatureMismatch(const TensorQueue::Spec& spec) const {
    return InvalidArgument("Signature mismatch, have components: ", Listed(types_),
                           ", expected those of ", spec.kind, " '", spec.name,
                           "': ", Listed(spec.types));
  }

  const std::vector<DType> types_;
};

class EnqueueCpu : public QueueKernel {
 public:
  using QueueKernel::QueueKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    RETURN_IF_ERROR(CheckTimeout(c));
    ASSIGN_OR_RETURN(std::vector<DType> types, c.Attr<std::vector<DType>>("Tcomponents"));
    return std::unique_ptr<Kernel>(std::make_unique<EnqueueCpu>(std::move(types)));
  }

 private:
  std::optional<Status> Try(Context& ctx, TensorQueue& queue) override {
    Status status;
    if (queue.TryEnqueue(ctx, 1, &status)) return status;
    return std::nullopt;
  }
  std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) override {
    return std::make_unique<TensorQueue::Enqueue>(ctx, std::move(done), 1, 1, false);
  }
};

// Enqueues a record that the step's ReaderRead has read. In a row of repeated steps it goes on as
// the next steps would: each record is in the queue before the next is read. What would wait or
// fail is left to the next step, which then says so.
class EnqueueRecordsCpu final : public EnqueueCpu {
 public:
  EnqueueRecordsCpu(std::vector<DType> types, std::vector<int64_t> outputs)
      : EnqueueCpu(std::move(types)), outputs_(std::move(outputs)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    RETURN_IF_ERROR(CheckTimeout(c));
    ASSIGN_OR_RETURN(std::vector<DType> types, c.Attr<std::vector<DType>>("Tcomponents"));
    ASSIGN_OR_RETURN(std::vector<int64_t> outputs, c.Attr<std::vector<int64_t>>("read_outputs"));
    const bool are_texts = types == std::vector<DType>(outputs.size(), DType::kString);
    if (!are_texts || std::ranges::any_of(outputs, [](int64_t o) { return o != 0 && o != 1; })) {
      return InvalidArgument("expected for each component the output of ReaderRead that it is, 0 ",
                             "or 1, and only strings, got components ", Listed(types));
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<EnqueueRecordsCpu>(std::move(types), std::move(outputs)));
  }

 private:
  // Of one step.
  static constexpr int kMostRecords = 64;
  static constexpr uint64_t kMostBytes = 256 << 10;

  std::optional<Status> TryRepeated(Context& ctx) override {
    bool are_records = true;  // else the queue's elements have other shapes than a reader's texts
    for (size_t c = 0; c < outputs_.size(); ++c) {
      are_records &= ctx.input(static_cast<int>(c) + 1).rank() == 0;
    }
    std::optional<Status> status = TryCompute(ctx);
    if (are_records && status.has_value() && status->ok()) GoOn(ctx);
    return status;
  }

  void GoOn(Context& ctx) const {
    const Result<RefPtr<TensorQueue>> queue = ResourceOf<TensorQueue>(ctx);
    const Result<RefPtr<Reader>> reader = ResourceOf<Reader>(ctx, ctx.num_inputs() - 1);
    if (!queue.ok() || !reader.ok()) return;
    const CancellationManager& cancellation = *ctx.step().cancellation;
    uint64_t bytes = 0;
    bool goes_on = true;
    for (int i = 1; i < kMostRecords && bytes < kMostBytes && goes_on; ++i) {
      if (cancellation.IsCancelled() || !(*reader)->TakeFreeTurn()) return;
      goes_on = EnqueueNext(ctx, **queue, **reader, &bytes);
      (*reader)->GiveTurn();
    }
  }

  // With the reader's turn. False, and the record is still the reader's next: it was not enqueued.
  bool EnqueueNext(Context& ctx, TensorQueue& queue, Reader& reader, uint64_t* bytes) const {
    Result<Tensor> text = ctx.AllocateTemporary(DType::kString, Shape());
    if (!text.ok() || !reader.has_work() || !queue.MayPush()) return false;
    Result<std::optional<std::string>> value = reader.Next(
        [&](uint64_t size) { return ClaimTextHeap(ctx.allocator(), *text, TextHeapBytes(size)); });
    if (!value.ok() || !*value) return false;
    std::string& held = *text->mutable_data<std::string>();
    held = **std::move(value);
    *bytes += held.size();
    if (ChargeTextHeap(ctx.allocator(), *text).ok() && Push(ctx, queue, reader, *text)) return true;
    reader.PutBack(std::move(held));
    return false;
  }

  bool Push(Context& ctx, TensorQueue& queue, const Reader& reader, const Tensor& value) const {
    InlinedTensors element(outputs_.size());
    Tensor key;
    for (size_t c = 0; c < outputs_.size(); ++c) {
      if (outputs_[c] == 0 && key.empty()) {
        Result<Tensor> made = ctx.AllocateTemporary(DType::kString, Shape());
        if (!made.ok()) return false;
        *made->mutable_data<std::string>() = reader.Key();
        if (!ChargeTextHeap(ctx.allocator(), *made).ok()) return false;
        key = *std::move(made);
      }
      element.span()[c] = outputs_[c] == 0 ? key : value;
    }
    return queue.TryPush(ctx, element.span().data());
  }

  const std::vector<int64_t> outputs_;  // of ReaderRead, by component
};

class EnqueueManyCpu : public QueueKernel {
 public:
  using QueueKernel::QueueKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    RETURN_IF_ERROR(CheckTimeout(c));
    ASSIGN_OR_RETURN(std::vector<DType> types, c.Attr<std::vector<DType>>("Tcomponents"));
    return std::unique_ptr<Kernel>(std::make_unique<EnqueueManyCpu>(std::move(types)));
  }

 private:
  std::optional<Status> Try(Context& ctx, TensorQueue& queue) override {
    Status status = queue.CheckBatch(ctx, 1);
    if (!status.ok()) return status;
    if (ctx.input(1).dim(0) == 0) return OkStatus();
    return std::nullopt;
  }
  std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) override {
    const int64_t count = ctx.input(1).dim(0);
    return std::make_unique<TensorQueue::Enqueue>(ctx, std::move(done), 1, count, true);
  }
};

class DequeueCpu : public QueueKernel {
 public:
  using QueueKernel::QueueKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    RETURN_IF_ERROR(CheckTimeout(c));
    ASSIGN_OR_RETURN(std::vector<DType> types, c.Attr<std::vector<DType>>("component_types"));
    return std::unique_ptr<Kernel>(std::make_unique<DequeueCpu>(std::move(types)));
  }

 private:
  std::optional<Status> Try(Context& ctx, TensorQueue& queue) override {
    Status status;
    if (queue.TryDequeue(ctx, &status)) return status;
    return std::nullopt;
  }
  std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) override {
    return std::make_unique<TensorQueue::Dequeue>(ctx, std::move(done), 1, false, false);
  }
};

class DequeueManyCpu : public QueueKernel {
 public:
  DequeueManyCpu(std::vector<DType> types, bool may_be_fewer)
      : QueueKernel(std::move(types)), may_be_fewer_(may_be_fewer) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    RETURN_IF_ERROR(CheckTimeout(c));
    ASSIGN_OR_RETURN(std::vector<DType> types, c.Attr<std::vector<DType>>("component_types"));
    const bool may_be_fewer = c.node().op_name().find("UpTo") != std::string::npos;
    return std::unique_ptr<Kernel>(
        std::make_unique<DequeueManyCpu>(std::move(types), may_be_fewer));
  }

 private:
  std::optional<Status> Try(Context& ctx, TensorQueue& queue) override {
    const Result<int64_t> n = LegacyIntScalar(ctx.input(1), "n");
    if (!n.ok()) return n.status();
    const TensorQueue::Spec& spec = queue.spec();
    if (*n < 0) {
      return InvalidArgument("DequeueManyOp requested ", *n,
                             " elements; the number must not be negative");
    }
    if (spec.shapes.empty()) {
      return InvalidArgument(spec.kind, "'s DequeueMany and DequeueUpTo require the components to ",
                             "have specified shapes.");
    }
    if (*n > 0) return std::nullopt;
    return queue.EmptyBatch(ctx);
  }
  std::unique_ptr<Waiter> MakeWaiter(Context& ctx, Done done) override {
    const int64_t n = ctx.input(1).scalar<int32_t>();
    return std::make_unique<TensorQueue::Dequeue>(ctx, std::move(done), n, true, may_be_fewer_);
  }

  const bool may_be_fewer_;
};

class CloseCpu : public WaitingKernel {
 public:
  explicit CloseCpu(bool cancel) : cancel_(cancel) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool cancel, c.Attr<bool>("cancel_pending_enqueues"));
    return std::unique_ptr<Kernel>(std::make_unique<CloseCpu>(cancel));
  }

  std::optional<Status> TryCompute(Context& ctx) override {
    const Result<RefPtr<TensorQueue>> queue = ResourceOf<TensorQueue>(ctx);
    if (!queue.ok()) return queue.status();
    if (!cancel_) return std::nullopt;
    (*queue)->CloseAndCancel();
    return OkStatus();
  }
  void Wait(Context& ctx, Done done) override {
    const Result<RefPtr<TensorQueue>> queue = ResourceOf<TensorQueue>(ctx);
    if (!queue.ok()) return std::move(done)(queue.status());
    (*queue)->Join(std::make_unique<TensorQueue::Close>(ctx, std::move(done)));
  }
  std::string WaitsFor(Context& ctx) const override {
    const Result<RefPtr<TensorQueue>> queue = ResourceOf<TensorQueue>(ctx);
    return queue.ok() ? (*queue)->DebugString() : "";
  }

 private:
  const bool cancel_;
};

Status IsClosed(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<TensorQueue> queue, ResourceOf<TensorQueue>(ctx));
  ctx.set_output(0, Tensor::Scalar(queue->is_closed()));
  return OkStatus();
}

Status Size(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<TensorQueue> queue, ResourceOf<TensorQueue>(ctx));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(std::min(queue->size(), kMost))));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(queue_access, cpu) {
  registry.Add<EnqueueRecordsCpu>("_EnqueueRecords", kCpu);
  for (const char* version : {"", "V2"}) {
    registry.Add<EnqueueCpu>(StrCat("QueueEnqueue", version), kCpu);
    registry.Add<EnqueueManyCpu>(StrCat("QueueEnqueueMany", version), kCpu);
    registry.Add<DequeueCpu>(StrCat("QueueDequeue", version), kCpu);
    registry.Add<DequeueManyCpu>(StrCat("QueueDequeueMany", version), kCpu);
    registry.Add<DequeueManyCpu>(StrCat("QueueDequeueUpTo", version), kCpu);
    registry.Add<CloseCpu>(StrCat("QueueClose", version), kCpu);
    registry.AddFunction<IsClosed>(StrCat("QueueIsClosed", version), kCpu).Cost(KernelCost::kCheap);
    registry.AddFunction<Size>(StrCat("QueueSize", version), kCpu).Cost(KernelCost::kCheap);
  }
}
