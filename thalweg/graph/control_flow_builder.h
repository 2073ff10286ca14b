// SPDX-License-Identifier: Apache-2.0
// Loops and conditionals of functions: what adds While, If and Case to a graph from the bodies that
// a front end has built. They need not read the same tensors of the graph outside: every function
// of one node gets what any of them reads.
//
//   FunctionBuilder condition(graph), body(graph);
//   ... goes_on and next are built from arguments of both ...
//   ASSIGN_OR_RETURN(std::vector<Output> last,
//                    AddWhile({.name = "loop"}, {x}, {&condition, {goes_on}}, {&body, {next}}));
//
// A node whose functions have no effects is the stateless form. Its gradients are those of its
// operation (papers: control flow of the OSDI 2016 paper, section 3.4).
// Ownership: none; the builders' bodies may go once the node is there.
// Threads: one at a time with one graph outside.
// Errors: InvalidArgument that names the loop variable, branch or result that does not fit; nothing
// is added then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/graph/function_builder.h"

namespace thalweg {

// Where the node stands, as in NodeSpec. The functions are named after it.
struct ControlFlowSpec {
  std::string name;
  std::string device;
  uint32_t site = 0;
  int64_t parallel_iterations = 10;  // While alone
};

// A body of a node and its results, each of the body or outside.
struct BranchBody {
  FunctionBuilder* builder = nullptr;
  std::vector<Output> results;
};

// Calls `body` on `initial` as long as `condition` says true: the last values, as many. Both have
// an argument for each; the shape of the body's is what a variable keeps, so that one whose shape
// changes has an argument of a less definite shape.
Result<std::vector<Output>> AddWhile(const ControlFlowSpec& spec, std::vector<Output> initial,
                                     BranchBody condition, BranchBody body);
// The results of `then` where the scalar is true, else those of `otherwise`.
Result<std::vector<Output>> AddIf(const ControlFlowSpec& spec, Output predicate, BranchBody then,
                                  BranchBody otherwise);
// The results of the branch whose number the int32 scalar is; of the last, where there is no such.
Result<std::vector<Output>> AddCase(const ControlFlowSpec& spec, Output index,
                                    std::vector<BranchBody> branches);

}  // namespace thalweg
