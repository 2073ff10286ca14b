// SPDX-License-Identifier: Apache-2.0
// LateReads: what reads the value of a reference variable after an update sees the update.
//
//   v/read = Identity(v); update = AssignAdd(v, 1); y = Neg(v/read) ^update
//     -> y = Neg(Identity(v) ^update)
//
// In TensorFlow the value that Identity makes of a reference is the variable's own memory, so that
// programs that say "after this update" of a reader get the updated value though the read node is
// an old one; here it is a value of its own. A reader that an update of the variable leads to, by
// control or data edges, gets a read of its own behind what leads there. Readers that no update
// leads to keep theirs: nothing says when they run. Work: nodes and edges, once for each 64
// variables that are both updated and read.
// Ownership: as pass.h: a new graph, or the one given.
// Threads: as pass.h: one.
// Errors: those of the step's budget.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> LateReads(const StepGraph& step);

}  // namespace thalweg
