// SPDX-License-Identifier: Apache-2.0
// Which operations are instructions of an element-wise program, and which.
//
//   if (const int count = FusableInstructions(node); count >= 0) {
//     result = EmitInstructions(node, operands, next, &instructions);
//   }
//
// Ownership: values; the node is read during the call.
// Threads: any, as for reading a Graph.
// Errors: none; -1 or nothing for a node that is none of these.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "thalweg/compute/program/reduced_program.h"
#include "thalweg/graph/graph.h"

namespace thalweg {

// How many instructions compute the node; 0 for one that passes its input on, -1 for any other
// node. It looks at operation, attributes, types and what is known of shapes.
int FusableInstructions(const Node& node);

// Appends them; `next` is the number of the next value. Gives back the value that is the node's.
int EmitInstructions(const Node& node, std::span<const int> operands, int next,
                     std::vector<compute::EwInstruction>* instructions);

// The same for a reduction over constant dimensions; its only operand is input 0.
struct FusableReduction {
  compute::ReducedInstruction instruction;  // without its operand
  // It keeps its dimensions, which are the last ones: what it makes is broadcast back along rows.
  bool in_rows = false;
};
std::optional<FusableReduction> FindReduction(const Node& node);

}  // namespace thalweg
