// SPDX-License-Identifier: Apache-2.0
// ExpandFunctions: puts the bodies of called functions in the place of the calls, so that all later
// passes and the executor see primitives alone.
//
//   ASSIGN_OR_RETURN(step, ExpandFunctions(step, graph.library(), {.gradients = ...}));
//
// ExpandCall adds what stands for one call to the call's own graph, for who looks into it.
//
// Calls (PartitionedCall, RemoteCall, a function's own name) become their bodies' nodes, named
// "call/node". If and Case become Switch and Merge; While and For a loop frame; SymbolicGradient
// the gradient's nodes; BatchFunction a branch, which the step takes that leads its batch. A call's
// stateful nodes run when the call does; those of a branch that is not taken do not. A call in the
// body of the function that it calls stays one, a _RuntimeCall: only values say how deep such calls
// go.
// Ownership: as pass.h: a new graph, or the one given; the library outlives what is made.
// Threads: as pass.h: one; bodies are kept in the library, which several steps may use.
// Errors: NotFound for unknown functions, InvalidArgument for malformed ones and for recursion that
// nothing can end ("f -> g -> f"), ResourceExhausted for too many nodes, which is refused before
// they are made; each names the call.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "thalweg/graph/function.h"
#include "thalweg/passes/pass.h"

namespace thalweg {

// The gradients of `ys` with respect to `xs`, dense; a null Output where there is none. `at`: a
// node of the loop that the new nodes belong to; null: they belong where ys are.
using GradientMaker = std::function<Result<std::vector<Output>>(
    Graph* graph, const std::vector<Output>& ys, const std::vector<Output>& xs,
    const std::vector<Output>& grad_ys, const Node* at, WorkBudget* work)>;

struct ExpandOptions {
  GradientMaker gradients;
  int max_nodes = 1 << 21;     // that are made
  WorkBudget* work = nullptr;  // of bodies too; the step's
  bool serial_loops = false;   // While and For: one iteration at a time
  // What stands in a function gets attributes that say where: `_function`, `_function_node` (its
  // name there) and `_function_calls` (names of calls, the outermost first).
  bool tell_places = false;
};

Result<StepGraph> ExpandFunctions(const StepGraph& step, const FunctionLibrary& library,
                                  const ExpandOptions& options);

// The nodes are named "PREFIX/call/node", and nothing reads them: given are what would stand for
// the call's outputs, and the last node is a NoOp behind all of it. FailedPrecondition for a node
// that is no call. What is too large is refused before anything is made, as far as that can be
// counted; after another error some nodes may be there.
Result<std::vector<Output>> ExpandCall(Graph* graph, const Node& call, std::string_view prefix,
                                       const ExpandOptions& options);

}  // namespace thalweg
