// SPDX-License-Identifier: Apache-2.0
// Units: which nodes run together.
//
// A *gate* is a value that can arrive at a time of its own, or be dead on its own: of a heavy or
// asynchronous node, a side of a Switch (by predicate), a Merge, an Exit, an invariant. For each
// node: `ready`, all gates upstream in the frame (through a Merge: itself and what all its inputs
// share); `dead`, the gates whose death is the node's, afresh at each Merge; `depth`, the most
// Merges on a path to it. Equal (device, depth, ready, dead) is one basic block: no node waits for
// a gate that it would not have waited for alone, and a block lives or dies whole. The units of a
// frame form no cycle: along an edge depth never falls and Merges raise it, otherwise ready only
// grows, and a gate adds itself.
// Ownership: values; the program is read during the call.
// Threads: any, while nobody changes the program.
// Errors: none; where gates grow too many each node is a unit.
#pragma once

#include <vector>

#include "thalweg/executor/loops.h"
#include "thalweg/executor/plan.h"

namespace thalweg {

struct UnitNodes {
  UnitClass cls = UnitClass::kBasicBlock;
  std::vector<int> nodes;  // in the order of their code
  bool is_piece = false;   // cut from a longer basic block
};

struct Units {
  std::vector<bool> structured;  // by frame: one instruction of the code around it
  std::vector<bool> inside;      // by frame: part of a structured loop's code
  std::vector<bool> branches;    // by conditional: a jump in the code around it
  std::vector<bool> absent;      // by node: part of such a conditional, or a kCond that is none
  // By node: unit in its frame; -1 for gates, what is absent and nodes inside of loops.
  std::vector<int> unit_of;
  std::vector<std::vector<UnitNodes>> units;  // by frame
};

// What a control input stands for: a Switch or Merge that is part of a branch instruction is that.
int ResolveControl(const Lowered& lowered, const Units& units, int node);

Units FormUnits(const Lowered& lowered, const std::vector<LoopShape>& loops,
                const CompileOptions& options);

}  // namespace thalweg
