// SPDX-License-Identifier: Apache-2.0
// InterruptibleConstruction: the objects of a large tensor (strings, handles, variants) are made
// one by one, which takes a second for some ten millions of them; the making of a step's ends with
// it.
//
//   const InterruptibleConstruction until(ctx.step().cancellation);   // for this thread
//   ASSIGN_OR_RETURN(Tensor t, Tensor::Allocate(allocator, DType::kString, Shape{n}));
//
// Ownership: the cancellation outlives it; it lies on the stack, an inner one before the outer.
// Threads: one belongs to the thread that made it.
// Errors: Allocate gives Cancelled; what was made is gone.
#pragma once

#include <utility>

#include "thalweg/base/cancellation.h"

namespace thalweg {

class InterruptibleConstruction {
 public:
  // Null: never.
  explicit InterruptibleConstruction(const CancellationManager* cancellation)
      : outer_(std::exchange(watched_, cancellation)) {}
  InterruptibleConstruction(const InterruptibleConstruction&) = delete;
  InterruptibleConstruction& operator=(const InterruptibleConstruction&) = delete;
  ~InterruptibleConstruction() { watched_ = outer_; }

  static bool IsToStop() { return watched_ != nullptr && watched_->IsCancelled(); }

 private:
  using Watched = const CancellationManager*;

  // Every output asks for it. The initial-exec model makes that one instruction, also in a library
  // that is opened late.
  [[gnu::tls_model("initial-exec")]] static inline thread_local constinit Watched watched_ =
      nullptr;
  const Watched outer_;
};

}  // namespace thalweg
