// SPDX-License-Identifier: Apache-2.0
// Kernel: one operation on one device for one node. Made once per plan (stateful ones once per
// session), run in every step that needs the node, possibly by several threads at once: members
// that Compute changes need their own lock.
//
//   class NegCpu : public Kernel {
//     Status Compute(Context& ctx) override {
//       const Tensor& x = ctx.input(0);
//       ASSIGN_OR_RETURN(Tensor* y, ctx.TakeOrAllocateOutput({0}, 0, x.dtype(), x.shape()));
//       ...
//     }
//   };
//
// Ownership: its plan or its session; a sink outlives every Done that points at it.
// Threads: Compute from any, several at once; Done once, from any.
// Errors: a kernel says what is wrong with its inputs; node, operation, device, shapes and the
// user's line are put before it by the executor. A kernel must not throw, block, or hold a lock
// when it returns.
#pragma once

#include <cstdint>
#include <memory>

#include "thalweg/base/status.h"
#include "thalweg/kernel/context.h"

namespace thalweg {

// Called once when an asynchronous kernel has ended: the one end of a step's bookkeeping.
class DoneSink {
 public:
  virtual void OnDone(uint64_t token, Status status) = 0;

 protected:
  ~DoneSink() = default;
};

// The promise of an asynchronous kernel to say when it has ended. May be called inline or on any
// thread, and only queues work: no kernel runs inside. Dropping it uncalled fails the node with
// Internal.
class Done {
 public:
  Done(DoneSink* sink, uint64_t token) : sink_(sink), token_(token) {}
  Done(Done&& other) noexcept : sink_(std::exchange(other.sink_, nullptr)), token_(other.token_) {}
  Done& operator=(Done&&) = delete;
  ~Done() {
    if (sink_ != nullptr) sink_->OnDone(token_, Internal("the kernel dropped its Done"));
  }
  void operator()(Status status) && {
    std::exchange(sink_, nullptr)->OnDone(token_, std::move(status));
  }

 private:
  DoneSink* sink_;
  uint64_t token_;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Status Compute(Context& ctx) = 0;
  // Null for a synchronous kernel.
  virtual class AsyncKernel* AsAsync() { return nullptr; }
};

// A kernel that may end later without holding a thread (Recv, Enqueue, Dequeue, I/O).
class AsyncKernel : public Kernel {
 public:
  // `ctx` and its inputs stay valid until `done` is called. What waits must register with the
  // step's CancellationManager and end within moments of a cancel.
  virtual void ComputeAsync(Context& ctx, Done done) = 0;
  Status Compute(Context&) final {
    return Internal("an asynchronous kernel was called synchronously");
  }
  AsyncKernel* AsAsync() final { return this; }
};

}  // namespace thalweg
