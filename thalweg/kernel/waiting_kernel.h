// SPDX-License-Identifier: Apache-2.0
// WaitingKernel: an asynchronous kernel that mostly need not wait (a queue with room). It is tried
// first, as a plain kernel; only when it must wait does it become an asynchronous one, and then it
// can say what for, so that the error of a deadline names it.
//
// Ownership: as AsyncKernel: ctx and its inputs stay until `done`.
// Threads: as AsyncKernel; WaitsFor from any thread until Done was called.
// Errors: those of TryCompute at once, else of Wait, which come to `done`.
#pragma once

#include <optional>
#include <string>

#include "thalweg/kernel/kernel.h"

namespace thalweg {

class WaitingKernel : public AsyncKernel {
 public:
  // What the kernel says when it need not wait; nothing, and nothing has happened, when it must.
  virtual std::optional<Status> TryCompute(Context& ctx) = 0;
  // The same in a step that is one of a row of equal ones without feeds and fetches: it may also do
  // what the next ones would, where nobody can tell.
  virtual std::optional<Status> TryRepeated(Context& ctx) { return TryCompute(ctx); }
  // Waits, in the order of the calls.
  virtual void Wait(Context& ctx, Done done) = 0;
  // "queue 'q' (FIFOQueue, 0 of 10 elements)".
  virtual std::string WaitsFor(Context& ctx) const = 0;

  void ComputeAsync(Context& ctx, Done done) final {
    if (std::optional<Status> status = TryCompute(ctx)) {
      std::move(done)(*std::move(status));
    } else {
      Wait(ctx, std::move(done));
    }
  }
};

}  // namespace thalweg
