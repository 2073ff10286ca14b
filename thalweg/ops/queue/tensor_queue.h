// SPDX-License-Identifier: Apache-2.0
// TensorQueue: a queue of tuples of tensors between steps: first in first out, the same with
// padding, shuffled, or by priority.
//
//   if (!queue->TryEnqueue(ctx, 1, &status)) {
//     queue->Join(std::make_unique<TensorQueue::Enqueue>(ctx, std::move(done), 1, 1, false));
//   }
//
// Both ends are served in the order in which they came. A dequeue of several elements takes them as
// they come, so it may be larger than the capacity; what it has when its step is cancelled, or the
// queue closes with too few, goes back to the front in its order. Close() waits behind the enqueues
// that came before it; closing with cancel turns them away.
// Ownership: shared by the container and who waits; elements share the buffers they were given
// with, only slices and batches are copied.
// Threads: any.
// Errors: Cancelled from enqueues into a closed queue and from a second Close; OutOfRange from
// dequeues of a closed queue with too few elements.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/kernel/contained.h"
#include "thalweg/ops/queue/element_store.h"
#include "thalweg/resources/held_bytes.h"
#include "thalweg/resources/waiter_queues.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class TensorQueue : public WaiterQueues, public Contained, public HoldsBytes {
 public:
  // What the attributes of a node say.
  struct Spec {
    std::string kind;  // "FIFOQueue"
    std::string name;
    std::vector<DType> types;
    std::vector<PartialShape> shapes;  // empty: of any shape
    int64_t capacity = 0;              // the largest number for no bound
    int64_t min_after_dequeue = 0;
    uint64_t seed = 0;
    uint64_t seed2 = 0;
    bool has_seeds = false;  // that were asked for
  };
  explicit TensorQueue(Spec spec);

  const Spec& spec() const { return spec_; }
  int64_t size() const EXCLUDES(mutex_);
  bool is_closed() const EXCLUDES(mutex_);
  // Turns pending enqueues away.
  void CloseAndCancel() EXCLUDES(mutex_);
  std::string DebugString() const override;
  int64_t held_bytes() const override EXCLUDES(mutex_);

  // A waiter of one of the lines.
  struct Enqueue;
  struct Dequeue;
  struct Close;

  // True when it has ended at once, with *status: into a queue with room that nobody waits for, out
  // of one that has an element.
  bool TryEnqueue(Context& ctx, int first_input, Status* status) EXCLUDES(mutex_);
  bool TryDequeue(Context& ctx, Status* status) EXCLUDES(mutex_);
  // Whether an enqueue would end at once and well.
  bool MayPush() const EXCLUDES(mutex_);
  // Moves in an element whose types and shapes are the queue's. False, and nothing has happened:
  // where an enqueue would wait or fail.
  bool TryPush(Context& ctx, Tensor* element) EXCLUDES(mutex_);

  // InvalidArgument when the shapes of an element, or of a batch of elements, are not the queue's.
  Status CheckElement(const Context& ctx, int first_input) const;
  Status CheckBatch(const Context& ctx, int first_input) const;
  // Outputs of a dequeue of no elements.
  Status EmptyBatch(Context& ctx) const { return Batch(ctx, {}); }

 private:
  Progress Advance(Waiter& waiter) override REQUIRES(mutex_);
  void Withdraw(Waiter& waiter) override REQUIRES(mutex_);
  Status Finish(Waiter& waiter) override EXCLUDES(mutex_);
  Progress AdvanceEnqueue(Enqueue& enqueue) REQUIRES(mutex_);
  Progress AdvanceDequeue(Dequeue& dequeue) REQUIRES(mutex_);
  Progress AdvanceClose(Waiter& close) REQUIRES(mutex_);
  bool HasPlace() const REQUIRES(mutex_);
  // How many elements a dequeue may take now.
  int64_t Available() const REQUIRES(mutex_);
  // For one more element.
  Status MakeRoom(Context& ctx) REQUIRES(mutex_);
  Status ClosedError() const;
  Status TooFew(int64_t requested, int64_t left) const;
  // Takes the texts of elements where it ends well.
  Status Batch(Context& ctx, std::span<Tensor> elements) const;
  Result<Tensor> BatchComponent(Context& ctx, std::span<Tensor> elements, size_t component,
                                bool is_last) const;

  const Spec spec_;
  const size_t width_;  // components of an element
  const std::unique_ptr<ElementStore> store_ GUARDED_BY(mutex_);
  PlacesCharge places_ GUARDED_BY(mutex_);  // of store_
  bool closed_ GUARDED_BY(mutex_) = false;
};

// Puts in one element, or `count` rows of the components.
struct TensorQueue::Enqueue : Waiter {
  Enqueue(Context& c, Done d, int first, int64_t n, bool rows)
      : Waiter(kLine, c, std::move(d)), first_input(first), count(n), is_rows(rows) {}
  static constexpr size_t kLine = 0;
  const int first_input;
  const int64_t count;
  const bool is_rows;
  int64_t next = 0;
};

// Closes once the enqueues before it have ended.
struct TensorQueue::Close : Waiter {
  Close(Context& c, Done d) : Waiter(Enqueue::kLine, c, std::move(d)) {}
};

// Takes one element; or a batch of `count`, or of fewer, at least one, when the queue closes.
struct TensorQueue::Dequeue : Waiter {
  Dequeue(Context& c, Done d, int64_t n, bool batch, bool up_to)
      : Waiter(kLine, c, std::move(d)), count(n), is_batch(batch), may_be_fewer(up_to) {}
  static constexpr size_t kLine = 1;
  const int64_t count;
  const bool is_batch;
  const bool may_be_fewer;
  int64_t taken = 0;
  std::vector<Tensor> elements;  // one after the other
};

}  // namespace thalweg
