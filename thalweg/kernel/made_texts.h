// SPDX-License-Identifier: Apache-2.0
// Room for the strings that a kernel makes, asked for before they are there: their bytes count
// against the limit of the step's allocator, as the tensor's own do.
//
//   TextMeter meter(ctx.allocator(), *out);            // strings that are made one by one
//   if (!meter.Take(length)) return meter.status();
//   RETURN_IF_ERROR(ClaimCopies(ctx, *out, x, n));     // each element of x, n times
//   return MoveElements(ctx, x, *out, [&](DType dtype, const void* from, void* to) { ... });
//
// All of it does nothing for tensors of other types. What is asked for here counts until the
// executor charges the output with what its strings hold. A kernel whose output holds no more than
// its inputs need not ask.
// Ownership: the allocator and the output outlive a meter; a charge is the caller's.
// Threads: one for each output; TextMeter::Take from any shard.
// Errors: ResourceExhausted with the bytes asked for and the limit.
#pragma once

#include <atomic>
#include <cstdint>

#include "thalweg/base/mutex.h"
#include "thalweg/kernel/context.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/text_heap.h"

namespace thalweg {

// Threads: any shard may take.
class TextMeter {
 public:
  // Both outlive this object.
  TextMeter(Allocator& allocator, Tensor& out) : allocator_(allocator), out_(out) {}

  // Room for one more string. False: there is none, nor for any later one.
  bool Take(size_t length) {
    const auto bytes = static_cast<int64_t>(TextHeapBytes(length));
    if (bytes == 0 || left_.fetch_sub(bytes, std::memory_order_relaxed) >= bytes) return true;
    return AskFor(bytes);
  }
  Status status() const {
    MutexLock lock(mutex_);
    return status_;
  }

 private:
  bool AskFor(int64_t bytes);

  Allocator& allocator_;
  Tensor& out_;
  std::atomic<int64_t> left_{0};
  mutable Mutex mutex_;
  Status status_ GUARDED_BY(mutex_);
};

// Whether the step goes on and a text that is being made may have `bytes`, which may be twice as
// much memory; they count as long as the charge does.
inline Status MayGrowTo(Context& ctx, HeapCharge& charge, size_t bytes) {
  RETURN_IF_ERROR(ctx.step().cancellation->Reason());
  return charge.Set(ctx.allocator(), 2 * bytes);
}

// Each element of `value`, `times` times.
Status ClaimCopies(Context& ctx, Tensor& out, const Tensor& value, int64_t times = 1);
// n elements of `value` from element `begin` on.
Status ClaimCopiesOf(Allocator& allocator, Tensor& out, const Tensor& value, int64_t begin,
                     int64_t n);

// The room that `move` takes when it moves strings: it moves their lengths first.
class MovedLengths {
 public:
  static Result<MovedLengths> Of(Context& ctx, const Tensor& from, const Tensor& to);
  const void* from() const { return from_.raw_data(); }
  void* to() { return to_.mutable_raw_data(); }
  Status Claim(Context& ctx, Tensor& out) const;

 private:
  Tensor from_, to_;
};

// move(dtype, from, to) moves elements of `from`, some of them several times, into `to`, wherever
// it likes.
template <class Move>
Status MoveElements(Context& ctx, const Tensor& from, Tensor& to, const Move& move) {
  if (from.dtype() == DType::kString) {
    ASSIGN_OR_RETURN(MovedLengths lengths, MovedLengths::Of(ctx, from, to));
    RETURN_IF_ERROR(move(DType::kInt64, lengths.from(), lengths.to()));
    RETURN_IF_ERROR(lengths.Claim(ctx, to));
  }
  return move(from.dtype(), from.raw_data(), to.mutable_raw_data());
}

}  // namespace thalweg
