// SPDX-License-Identifier: Apache-2.0
// CancelLooks: for loops over many small things that end early with an error anyway: a look at the
// cancel flag every so many of them. Plain loops have ForBlocks and ForBlocksInOrder.
//
//   CancelLooks looks(ctx.work());
//   for (int64_t i = 0; i < n; ++i) {
//     RETURN_IF_ERROR(looks.Did());
//     ...
//   }
//
// Ownership: the Work outlives it.
// Threads: one.
// Errors: Cancelled when the flag is set.
#pragma once

#include "thalweg/compute/work.h"

namespace thalweg::compute {

class CancelLooks {
 public:
  explicit CancelLooks(const Work& work) : work_(work) {}

  // `count` more things, such as elements, are about to be done.
  Status Did(int64_t count = 1) {
    left_ -= count;
    if (left_ > 0) return OkStatus();
    left_ = kBetweenLooks;
    return work_.cancelled() ? CancelledStep() : OkStatus();
  }

 private:
  static constexpr int64_t kBetweenLooks = 1 << 14;

  const Work& work_;
  int64_t left_ = kBetweenLooks;
};

}  // namespace thalweg::compute
