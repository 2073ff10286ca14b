// SPDX-License-Identifier: Apache-2.0
// Loops: which frames have the shape of a while loop of synchronous nodes, cheap ones or heavy ones
// that wait for each other, so that they can become one instruction.
//
// Such a loop has one predicate, computed without a Switch; header Merges of an Enter and a
// NextIteration; what lies behind side 1 of its Switches is the body, side 0 leads to Exits only;
// loops inside are such loops, other Switches are parts of conditionals (conditionals.h). All that
// enters a loop inside lies in the same part, so that no loop is half dead. Whether the loop is
// used depends on the code around it.
// Ownership: values; the program is read during the call.
// Threads: any, while nobody changes the program.
// Errors: none; what has not the shape is not structured.
#pragma once

#include <vector>

#include "thalweg/executor/lowering.h"

namespace thalweg {

struct LoopShape {
  bool structured = false;
  bool heavy = false;  // heavy nodes in it, or in loops in it
  int depth = 0;       // loops around each other inside
  LoweredValue predicate;
  std::vector<int> condition;  // nodes in order; Merges and invariants left out
  std::vector<int> body;
};

// By frame. `threads` = 0: heavy nodes count as cheap.
std::vector<LoopShape> FindLoops(const Lowered& lowered, int threads);

}  // namespace thalweg
