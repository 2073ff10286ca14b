// SPDX-License-Identifier: Apache-2.0
// Lowering: the program as the compiler's later steps see it. Loops are single nodes of the frame
// around them; constants and feeds are values without a node; what only passes values on at the
// edge of a frame (Enter, Exit, NextIteration) becomes the property of a Merge, an invariant or an
// Exit. Forward nodes are put in where a value must wait for something.
// Ownership: points at the program, which outlives it; shares its constants.
// Threads: one makes it; then reading from any.
// Errors: those of AssignFrames: InvalidArgument with the nodes' names.
#pragma once

#include <array>
#include <vector>

#include "thalweg/executor/frames.h"
#include "thalweg/executor/program.h"

namespace thalweg {

enum class LoweredKind : uint8_t {
  kKernel,
  kForward,
  kSwitch,
  kMerge,  // a join
  kLoop,  // in the frame around the loop; inputs are what enters, in the order of FrameInfo::enters
  kExit,  // in the frame around the loop; arrives when the loop sends it
  kInvariant,  // a constant Enter, inside
  kCond,  // a whole conditional, beside its nodes: which of both runs, FormUnits decides (conditionals.h)
};

struct LoweredValue {
  static constexpr int kFeed = -1, kConstant = -2, kEntering = -3;
  int node = kFeed;
  int index = 0;  // output, feed, constant, or place among the Enters
  bool read_reference = false;
  bool is_node() const { return node >= 0; }
};

struct MergeInput {
  LoweredValue value;  // kEntering for an Enter
  int next = -1;       // number of the NextIteration in the frame, or -1
};

struct LoweredNode {
  LoweredKind kind = LoweredKind::kKernel;
  int origin = 0;  // program node
  int frame = 0;   // where it runs, or where its value is
  int device = 0;
  int num_outputs = 0;
  bool lenient_controls = false;  // dead ones count as alive
  bool is_synthetic = false;      // not the program's
  std::vector<LoweredValue> inputs;
  std::vector<int> controls;
  std::vector<MergeInput> merge_inputs;
  int child = -1;        // frame of a loop or exit
  int number = -1;       // of a merge, an exit or an invariant in its frame
  LoweredValue leaving;  // of an exit: the value inside
  int cond = -1;         // the innermost kCond that this is a part of
  int cond_output = -1;  // of a Merge that ends `cond`: its first output there
};

struct LoweredFrame {
  int loop = -1;  // the kLoop node
  std::vector<int> merges;
  std::vector<int> exits;
  std::vector<int> invariants;
  std::vector<int> enter_invariant;  // by Enter: the kInvariant node of a constant one, else -1
  bool has_stray_enters = false;     // a variable Enter is read by more than Merges
  int num_nexts = 0;
};

// A conditional whose branches are closed: what enters comes through its Switches or is there
// whether the branch is taken or not, and what leaves goes through Merges of both sides.
struct CondShape {
  struct Join {
    int merge;
    std::array<LoweredValue, 2> from;  // by side
    std::array<int, 2> input;          // number of the Merge's input, by side
    std::array<bool, 2> is_read;       // by output of the Merge
  };
  int node = -1;  // the kCond
  LoweredValue predicate;
  std::vector<int> switches;
  std::array<std::vector<int>, 2> sides;  // nodes in order; a kCond stands for all that is in it
  std::vector<Join> joins;
  std::vector<int> loops;  // frames of all loops in it
  float micros = 0;        // of the longer branch
};

struct Lowered {
  const Program* program = nullptr;
  FrameTree tree;
  std::vector<LoweredNode> nodes;
  std::vector<LoweredFrame> frames;
  std::vector<Tensor> constants;
  std::vector<LoweredValue> fetches;
  int first_index = -1;  // constants 0 and 1 of int32, if there are conditionals
  std::vector<CondShape>
      conditionals;        // kCond nodes have their place in it as number; outer ones first
  std::vector<int> order;  // nodes of a frame: sources first, readers close behind
};

Result<Lowered> Lower(const Program& program);

}  // namespace thalweg
