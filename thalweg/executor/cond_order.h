// SPDX-License-Identifier: Apache-2.0
// An order of a program's nodes in which everything that a conditional reads comes before it.
// Ownership: values; the program is read during the call.
// Threads: any, while nobody changes the program.
// Errors: none; a part that cannot be kept together is left out.
#pragma once

#include <vector>

#include "thalweg/executor/lowering.h"

namespace thalweg {

// What may become a kCond node.
struct CondPart {
  std::vector<int> switches;
  std::vector<int> members;  // of its branches, with the Switches and Merges of those inside
  std::vector<int> merges;
  float micros = 0;  // of the longer branch
  int outer = -1;    // part
  int node = -1;     // the kCond, once made; none where the part has no place in the order
};

// All nodes, sources first; number of nodes + p stands before all of part p and behind what any of
// it reads. Parts that cannot be kept together so are left out.
std::vector<int> OrderAroundParts(const Lowered& lowered, const std::vector<CondPart>& parts);

}  // namespace thalweg
