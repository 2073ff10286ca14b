// SPDX-License-Identifier: Apache-2.0
// CheckNumerics: a step that stops at its first value that is not finite: behind every node stands
// a check of what it made, and of the variable that it changed, which says what it was given
// (papers A6: numbers that one can trust).
//
//   ASSIGN_OR_RETURN(step, CheckNumerics(step));   // y = Log(x) -> _CheckFinite(x, Log(x))
//
// A node is blamed where it made NaN or Inf of what held none. Of constants, feeds and variables
// that are read only NaN counts: infinite ones are the program's own. Who runs behind an update
// waits for its check. What a node was given stays alive until its outputs are checked, so nothing
// is computed in place.
// Ownership: as pass.h.
// Threads: as pass.h.
// Errors: those of StepFrames and of the step's budget.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> CheckNumerics(const StepGraph& step);

}  // namespace thalweg
