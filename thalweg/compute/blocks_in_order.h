// SPDX-License-Identifier: Apache-2.0
// ForBlocks one after the other in the caller's thread, for what each block goes on from: looks at
// the cancel flag before each.
//
//   RETURN_IF_ERROR(ForBlocksInOrder(work, n, 1 << 16, [&](int64_t begin, int64_t end) {
//     for (int64_t i = begin; i < end; ++i) sum += x[i];
//   }));
//
// Ownership: keeps nothing.
// Threads: the caller's.
// Errors: Cancelled when the flag is set.
#pragma once

#include "thalweg/compute/work.h"

namespace thalweg::compute {

template <class Body>
Status ForBlocksInOrder(const Work& work, int64_t n, int64_t grain, const Body& body) {
  for (int64_t begin = 0; begin < n; begin += grain) {
    if (work.cancelled()) return CancelledStep();
    body(begin, begin + grain < n ? begin + grain : n);
  }
  return OkStatus();
}

}  // namespace thalweg::compute
