// SPDX-License-Identifier: Apache-2.0
// The first error wins: the one idea of how a step, a channel or a call that several parts may end
// comes to its error.
//
//   if (!KeepFirstError(reason, &aborted)) return OkStatus();   // it has ended before
//
// Ownership: `kept` is the caller's; the reason is moved into it.
// Threads: the caller holds the lock of what is kept.
// Errors: none of its own; an ok `next` is never kept.
#pragma once

#include <utility>

#include "thalweg/base/status.h"

namespace thalweg {

// True: `next` is an error and the first one, which `*kept` is from now on.
inline bool KeepFirstError(Status next, Status* kept) noexcept {
  if (!kept->ok() || next.ok()) return false;
  kept->swap(next);
  return true;
}

}  // namespace thalweg
