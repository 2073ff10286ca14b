// SPDX-License-Identifier: Apache-2.0
// CancelledStep: what a loop returns that looks and finds its step cancelled. A step that was
// cancelled for a reason of its own ends with that one.
//
//   if (work.cancelled()) return CancelledStep();
//
// Ownership: the Status is the caller's.
// Threads: any; no state.
// Errors: it makes one, Cancelled; a step that has a reason of its own ends with that.
#pragma once

#include "thalweg/base/status.h"

namespace thalweg {

inline Status CancelledStep() { return Cancelled("the step was cancelled"); }

}  // namespace thalweg
