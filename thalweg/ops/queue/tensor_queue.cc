// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/tensor_queue.h"

#include <algorithm>
#include <utility>

#include "thalweg/resources/batch_rows.h"
#include "thalweg/tensor/inlined_tensors.h"

namespace thalweg {
namespace {

std::unique_ptr<ElementStore> MakeStore(const TensorQueue::Spec& spec) {
  if (spec.kind == "RandomShuffleQueue") {
    return MakeShuffledStore(spec.types.size(), spec.seed, spec.seed2);
  }
  if (spec.kind == "PriorityQueue") return MakePriorityStore(spec.types.size());
  return MakeFifoStore(spec.types.size());
}

Status ShapeMismatch(size_t component, const std::string& expected, const Shape& found) {
  return InvalidArgument("Shape mismatch in tuple component ", component, ". Expected ", expected,
                         ", got ", found);
}

// The shape of one element is what the queue knows, or the largest in the batch.
Shape PaddedShape(const PartialShape& known, std::span<const Tensor> elements, size_t component,
                  size_t width) {
  Dims dims;
  for (int d = 0; d < known.rank(); ++d) {
    int64_t size = std::max<int64_t>(known.dim(d), 0);
    for (size_t i = component; i < elements.size() && known.dim(d) < 0; i += width) {
      size = std::max(size, elements[i].dim(d));
    }
    dims.push_back(size);
  }
  return Shape(std::move(dims));
}

}  // namespace

TensorQueue::TensorQueue(Spec spec)
    : WaiterQueues({Order::kFirst, Order::kFirst}),
      spec_(std::move(spec)),
      width_(spec_.types.size()),
      store_(MakeStore(spec_)) {}

int64_t TensorQueue::size() const {
  MutexLock lock(mutex_);
  return store_->size();
}

bool TensorQueue::is_closed() const {
  MutexLock lock(mutex_);
  return closed_;
}

int64_t TensorQueue::held_bytes() const {
  MutexLock lock(mutex_);
  return store_->bytes();
}

std::string TensorQueue::DebugString() const {
  MutexLock lock(mutex_);
  std::string text = StrCat("queue '", spec_.name, "' (", spec_.kind, ", ", store_->size());
  if (spec_.capacity < INT32_MAX) text += StrCat(" of ", spec_.capacity);
  text += " elements";
  if (spec_.min_after_dequeue > 0) text += StrCat(", ", spec_.min_after_dequeue, " must stay");
  return text + (closed_ ? ", closed)" : ")");
}

Status TensorQueue::ClosedError() const {
  return Cancelled(spec_.kind, " '", spec_.name, "' is closed.");
}

Status TensorQueue::TooFew(int64_t requested, int64_t left) const {
  return OutOfRange(spec_.kind, " '", spec_.name,
                    "' is closed and has insufficient elements (requested ", requested,
                    ", current size ", left, ")");
}

int64_t TensorQueue::Available() const {
  const int64_t stay = closed_ ? 0 : spec_.min_after_dequeue;
  return std::max<int64_t>(store_->size() - stay, 0);
}

Status TensorQueue::MakeRoom(Context& ctx) {
  return places_.MakeRoom(ctx.allocator(), static_cast<size_t>(store_->size()) + 1,
                          width_ * sizeof(Tensor));
}

void TensorQueue::CloseAndCancel() {
  Ended ended;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    FailAll(Enqueue::kLine, Cancelled("Enqueue operation was cancelled"), &ended);
    AdvanceAll(&ended);
  }
  End(std::move(ended));
}

Status TensorQueue::CheckElement(const Context& ctx, int first_input) const {
  for (size_t c = 0; c < spec_.shapes.size(); ++c) {
    const Tensor& value = ctx.input(first_input + static_cast<int>(c));
    const PartialShape& known = spec_.shapes[c];
    if (known.rank() == 0 && value.rank() == 0) continue;
    if (!known.Admits(value.shape())) return ShapeMismatch(c, known.ToString(), value.shape());
  }
  return OkStatus();
}

Status TensorQueue::CheckBatch(const Context& ctx, int first_input) const {
  const Tensor& first = ctx.input(first_input);
  if (first.rank() == 0) return ShapeMismatch(0, "a batch of elements", first.shape());
  const int64_t count = first.dim(0);
  for (size_t c = 0; c < width_; ++c) {
    const Tensor& value = ctx.input(first_input + static_cast<int>(c));
    PartialShape known({count});
    known = known.Concatenate(spec_.shapes.empty() ? PartialShape() : spec_.shapes[c]);
    const bool has_count = value.rank() > 0 && value.dim(0) == count;
    if (!has_count || !known.Admits(value.shape())) {
      return ShapeMismatch(c, known.ToString(), value.shape());
    }
  }
  return OkStatus();
}

bool TensorQueue::TryEnqueue(Context& ctx, int first_input, Status* status) {
  *status = CheckElement(ctx, first_input);
  if (!status->ok()) return true;
  Ended ended;
  {
    MutexLock lock(mutex_);
    if (closed_) {
      *status = ClosedError();
      return true;
    }
    if (!IsEmpty(Enqueue::kLine) || store_->size() >= spec_.capacity) return false;
    *status = MakeRoom(ctx);
    if (!status->ok()) return true;
    InlinedTensors element(width_);
    for (size_t c = 0; c < width_; ++c) {
      element.span()[c] = ctx.input(first_input + static_cast<int>(c));
    }
    store_->Push(element.span().data());
    if (IsEmpty(Dequeue::kLine)) return true;
    AdvanceAll(&ended);
  }
  End(std::move(ended));
  return true;
}

bool TensorQueue::HasPlace() const {
  return !closed_ && IsEmpty(Enqueue::kLine) && store_->size() < spec_.capacity;
}

bool TensorQueue::MayPush() const {
  MutexLock lock(mutex_);
  return HasPlace();
}

bool TensorQueue::TryPush(Context& ctx, Tensor* element) {
  Ended ended;
  {
    MutexLock lock(mutex_);
    if (!HasPlace() || !MakeRoom(ctx).ok()) return false;
    store_->Push(element);
    if (IsEmpty(Dequeue::kLine)) return true;
    AdvanceAll(&ended);
  }
  End(std::move(ended));
  return true;
}

bool TensorQueue::TryDequeue(Context& ctx, Status* status) {
  InlinedTensors element(width_);
  Ended ended;
  {
    MutexLock lock(mutex_);
    if (!IsEmpty(Dequeue::kLine)) return false;
    if (Available() == 0) {
      if (!closed_) return false;
      *status = TooFew(1, 0);
      return true;
    }
    store_->Pop(element.span().data());
    if (!IsEmpty(Enqueue::kLine)) AdvanceAll(&ended);
  }
  for (size_t c = 0; c < width_; ++c) {
    ctx.set_output(static_cast<int>(c), std::move(element.span()[c]));
  }
  End(std::move(ended));
  return true;
}

WaiterQueues::Progress TensorQueue::Advance(Waiter& waiter) {
  if (waiter.line == Dequeue::kLine) return AdvanceDequeue(static_cast<Dequeue&>(waiter));
  if (auto* enqueue = dynamic_cast<Enqueue*>(&waiter)) return AdvanceEnqueue(*enqueue);
  return AdvanceClose(waiter);
}

WaiterQueues::Progress TensorQueue::AdvanceEnqueue(Enqueue& enqueue) {
  if (closed_) {
    enqueue.status = ClosedError();
    return Progress::kEnded;
  }
  const int64_t before = enqueue.next;
  InlinedTensors element(width_);
  for (; enqueue.next < enqueue.count && store_->size() < spec_.capacity; ++enqueue.next) {
    enqueue.status = MakeRoom(enqueue.ctx);
    if (!enqueue.status.ok()) return Progress::kEnded;
    for (size_t c = 0; c < width_; ++c) {
      const Tensor& value = enqueue.ctx.input(enqueue.first_input + static_cast<int>(c));
      Result<Tensor> row = enqueue.is_rows ? RowOf(enqueue.ctx.allocator(), value, enqueue.next)
                                           : Result<Tensor>(value);
      if (!row.ok()) {
        enqueue.status = row.status();
        return Progress::kEnded;
      }
      element.span()[c] = *std::move(row);
    }
    store_->Push(element.span().data());
  }
  if (enqueue.next == enqueue.count) return Progress::kEnded;
  return enqueue.next > before ? Progress::kSome : Progress::kNone;
}

WaiterQueues::Progress TensorQueue::AdvanceClose(Waiter& close) {
  if (closed_) close.status = Cancelled("Queue '", spec_.name, "' is already closed.");
  closed_ = true;
  return Progress::kEnded;
}

WaiterQueues::Progress TensorQueue::AdvanceDequeue(Dequeue& dequeue) {
  const int64_t take = std::min(Available(), dequeue.count - dequeue.taken);
  const size_t at = dequeue.elements.size();
  dequeue.elements.resize(at + static_cast<size_t>(take) * width_);
  for (int64_t i = 0; i < take; ++i) {
    store_->Pop(&dequeue.elements[at + static_cast<size_t>(i) * width_]);
  }
  dequeue.taken += take;
  if (dequeue.taken == dequeue.count) return Progress::kEnded;
  if (closed_) {
    if (dequeue.may_be_fewer && dequeue.taken > 0) return Progress::kEnded;
    dequeue.status = TooFew(dequeue.count, dequeue.taken);
    Withdraw(dequeue);
    return Progress::kEnded;
  }
  return take > 0 ? Progress::kSome : Progress::kNone;
}

void TensorQueue::Withdraw(Waiter& waiter) {
  if (waiter.line != Dequeue::kLine) return;
  auto& dequeue = static_cast<Dequeue&>(waiter);
  for (; dequeue.taken > 0; --dequeue.taken) {
    store_->Return(&dequeue.elements[static_cast<size_t>(dequeue.taken - 1) * width_]);
  }
  dequeue.elements.clear();
}

Result<Tensor> TensorQueue::BatchComponent(Context& ctx, std::span<Tensor> elements, size_t c,
                                           bool is_last) const {
  const DType dtype = spec_.types[c];
  if (is_last && dtype == DType::kString && !elements.empty() && spec_.shapes[c].IsFullyDefined()) {
    std::vector<Tensor*> rows;
    rows.reserve(elements.size() / width_);
    for (size_t i = c; i < elements.size(); i += width_) rows.push_back(&elements[i]);
    return BatchOfRows(ctx.allocator(), rows);
  }
  const Shape shape = PaddedShape(spec_.shapes[c], elements, c, width_);
  const std::span<const Tensor> all = elements;
  return BatchOf(ctx.allocator(), dtype, shape, all.empty() ? all : all.subspan(c), width_);
}

Status TensorQueue::Batch(Context& ctx, std::span<Tensor> elements) const {
  // Texts are moved only behind all that may fail: then nothing is lost. Mostly the texts are of
  // one component.
  size_t last = width_ - 1;
  for (size_t c = 0; c < width_; ++c) last = spec_.types[c] == DType::kString ? c : last;
  for (size_t i = 0; i < width_; ++i) {
    const size_t c = i + 1 == width_ ? last : i < last ? i : i + 1;
    ASSIGN_OR_RETURN(Tensor batch, BatchComponent(ctx, elements, c, c == last));
    ctx.set_output(static_cast<int>(c), std::move(batch));
  }
  return OkStatus();
}

Status TensorQueue::Finish(Waiter& waiter) {
  if (waiter.line != Dequeue::kLine) return OkStatus();
  auto& dequeue = static_cast<Dequeue&>(waiter);
  if (!dequeue.is_batch) {
    for (size_t c = 0; c < width_; ++c) {
      dequeue.ctx.set_output(static_cast<int>(c), std::move(dequeue.elements[c]));
    }
    return OkStatus();
  }
  Status status = Batch(dequeue.ctx, dequeue.elements);
  if (status.ok()) return status;
  // No room for the batch: the elements are not lost.
  Ended ended;
  {
    MutexLock lock(mutex_);
    Withdraw(dequeue);
    AdvanceAll(&ended);
  }
  End(std::move(ended));
  return status;
}

}  // namespace thalweg
