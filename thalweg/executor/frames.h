// SPDX-License-Identifier: Apache-2.0
// FrameTree: which loop every node of a program belongs to, and an order to go through the nodes.
//
// Frame 0 is the root. An Enter runs in the frame it leaves and its value is in the one it opens;
// an Exit the other way round. Nested loops are nested frames, told apart by (parent, frame name);
// names end here.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument that names nodes for what no loop construct makes: a cycle without a
// NextIteration, a node with inputs from two frames, an Exit in the root frame or one that leads
// back into an Enter of its own frame.
#pragma once

#include <string>
#include <vector>

#include "thalweg/executor/program.h"

namespace thalweg {

struct FrameInfo {
  int parent = -1;
  std::string name;
  int parallel_iterations = 1;
  std::vector<int> enters;  // node numbers, ascending
  std::vector<int> exits;
  std::vector<int> nexts;
};

struct FrameTree {
  std::vector<FrameInfo> frames;  // parents before children
  std::vector<int> frame_of;      // where a node runs
  std::vector<int> opens;         // of an Enter: the frame it opens; else -1
  // All nodes; sources before readers, back edges excepted; all Enters of a frame before its Exits.
  std::vector<int> order;

  // Where a node's outputs are.
  int ValueFrame(const Program& program, int node) const {
    if (opens[node] != -1) return opens[node];
    const bool is_exit = program.nodes[node].control == Node::Control::kExit;
    return is_exit ? frames[frame_of[node]].parent : frame_of[node];
  }
};

Result<FrameTree> AssignFrames(const Program& program);

// The tag of iteration 0 of a frame opened in an iteration with tag `parent`; iteration n has this
// plus n. Upper half: who opened it, and the name; the same in every process.
uint64_t FrameTag(uint64_t parent, std::string_view name);

// The edge closes a loop: from a NextIteration to a Merge.
inline bool IsBackEdge(const Program& program, int source, int reader) {
  return program.nodes[source].control == Node::Control::kNextIteration &&
         program.nodes[reader].control == Node::Control::kMerge;
}

}  // namespace thalweg
