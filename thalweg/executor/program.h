// SPDX-License-Identifier: Apache-2.0
// Program: what an executor is compiled from: the nodes that a step runs, with kernels, and nothing
// that a step does not need. Session code makes one from a pruned, placed and partitioned graph
// (program_from_graph.h); tests write one.
//
//   Program program;
//   program.nodes.push_back({.name = "a", .op = "Add", .kernel = add, .num_outputs = 1,
//                            .inputs = {Value::Feed(0), Value::Feed(1)}});
//   program.num_feeds = 2;
//   program.fetches = {{Value::Of(0)}};
//
// Every node runs once (in a loop: once an iteration), or is dead. Partitions for several devices
// of one process are one program: `device` picks the StepContext, and Send and Recv between them
// are nodes like others.
// Ownership: owns its texts and constants, shares the kernels.
// Threads: one makes it; then reading from any.
// Errors: none; MakeExecutor says what is wrong with a program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/kernel/kernel.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// A value: output `index` of node `node`, or the step's feed number `index`.
struct Value {
  static constexpr int kFeed = -1;
  int node = kFeed;
  int index = 0;
  // The value is a reference to a variable and the reader wants what it holds.
  bool read_reference = false;

  static Value Feed(int index) { return {kFeed, index}; }
  static Value Of(int node, int index = 0) { return {node, index}; }
  bool is_feed() const { return node == kFeed; }
};

// A node with more work than this is worth a thread of its own.
inline constexpr float kHeavyMicros = 2;

struct ProgramNode {
  std::string name;
  std::string op;
  std::string site;  // where the user made it; may be empty
  // What the nodes are called that passes have made this one of. Its kernel's errors may begin
  // with one of them; the last stands for the whole.
  std::vector<std::string> made_of;
  Node::Control control = Node::Control::kNone;
  // Null for a control-flow primitive (switch, merge, enter, exit, next iteration, loop condition)
  // and for a constant.
  std::shared_ptr<Kernel> kernel;
  Tensor constant;                     // of a constant
  bool heavy = false;                  // worth a thread of its own
  float micros = 0;                    // an estimate of its work
  bool runs_when_dead = false;         // called also when dead, with empty inputs: Send
  bool may_be_dead = false;            // an output left empty is dead instead of an error: Recv
  bool ignores_dead_controls = false;  // ControlTrigger
  int num_outputs = 0;
  bool makes_texts = false;          // some output is of strings
  std::vector<bool> inline_outputs;  // known to be a scalar of at most 8 plain bytes; may be empty
  std::vector<Value> inputs;
  std::vector<int> control_inputs;
  int device = 0;
  // What an Enter says.
  std::string frame_name;
  bool is_constant = false;
  int parallel_iterations = 10;

  bool is_constant_node() const { return kernel == nullptr && control == Node::Control::kNone; }
  // A constant that waits for nothing is there before the step begins, in every frame.
  bool is_free_constant() const { return is_constant_node() && control_inputs.empty(); }
  // "Add 'layer/add'".
  std::string Label() const { return StrCat(op, " '", name, "'"); }
};

struct Program {
  std::vector<ProgramNode> nodes;
  int num_feeds = 0;
  std::vector<Value> fetches;
  int num_devices = 1;
};

}  // namespace thalweg
