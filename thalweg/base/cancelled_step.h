// SPDX-License-Identifier: Apache-2.0
// CancelledStep: what a loop returns that looks and finds its step cancelled. A step that was
// cancelled for a reason of its own ends with that one.
//
//   if (work.cancelled()) return CancelledStep();
#pragma once

#include "thalweg/base/status.h"

namespace thalweg {

inline Status CancelledStep() { return Cancelled("the step was cancelled"); }

}  // namespace thalweg
