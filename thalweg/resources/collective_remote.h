// SPDX-License-Identifier: Apache-2.0
// CollectiveRemote: what a step over several tasks offers to its collective operations: they join
// the members of the other tasks. cluster/ implements it.
//
//   if (CollectiveRemote* remote = ctx.step().collectives) {
//     return remote->Join(ctx, std::move(call), timeout_seconds, std::move(done));
//   }
//
// Ownership: the step's; cluster/ keeps it until no kernel of the step runs.
// Threads: any.
// Errors: come to `done`: those of CollectiveInstance, and of the way to the other tasks.
#pragma once

#include <string>

#include "thalweg/kernel/kernel.h"
#include "thalweg/resources/collective_call.h"

namespace thalweg {

class CollectiveRemote {
 public:
  // As CollectiveInstance::Join. timeout_seconds 0: none.
  virtual void Join(Context& ctx, CollectiveCall call, double timeout_seconds, Done done) = 0;
  // Who is there, or at which task they join.
  virtual std::string WaitsFor(const CollectiveKeys& keys, uint64_t tag) = 0;

 protected:
  ~CollectiveRemote() = default;
};

}  // namespace thalweg
