// SPDX-License-Identifier: Apache-2.0
// Conditionals: which Switches, Merges and nodes between them are a conditional of cheap
// synchronous nodes with closed branches, so that it can become a two-way jump inside straight-line
// code.
//
// A *region* is what lies behind one side of the Switches of one predicate; regions nest. What is
// connected inside of a predicate's two regions, with its Switches and Merges, is a conditional if
// nothing of it is read from outside but its Merges, each of them joins both sides, and nothing
// outside lies both behind and before it. Conditionals in conditionals are such ones too. Whether
// one is used depends on the code around it: all its Switches must run together.
// Ownership: changes the caller's lowered program.
// Threads: one at a time for each program.
// Errors: none; what is no such conditional stays as it is.
#pragma once

#include "thalweg/executor/lowering.h"

namespace thalweg {

// Adds a kCond node for each, and brings the order into one that puts it before its parts and
// behind all that they read. `threads` = 0: heavy nodes count as cheap.
void FindConditionals(int threads, Lowered* lowered);

}  // namespace thalweg
