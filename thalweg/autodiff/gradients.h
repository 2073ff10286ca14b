// SPDX-License-Identifier: Apache-2.0
// AddGradients: adds nodes that compute the partial derivatives of the sum of `ys` with respect to
// each of `xs` (white paper 4.1). Works backwards from ys; partials over several paths are summed;
// each operation's own gradient function does the rest.
//
//   ASSIGN_OR_RETURN(std::vector<GradientValue> g, AddGradients(&graph, {loss}, {w, b}, {}));
//
// Ownership: nodes belong to the graph; overrides and steps are used during the call.
// Threads: as GraphBuilder. Works on the nodes present at the call; depth of the graph is no limit
// (nothing recurses).
// Errors: InvalidArgument for a y that is not a real or complex tensor, for operations without a
// gradient on a path, and, unless allow_unconnected, for an x that no differentiable path reaches:
// the message shows where the path breaks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/base/work_budget.h"
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/graph.h"

namespace thalweg {

using GradientOverride = std::function<Status(GradientContext&)>;

// Where the function of a step is called.
struct GradientPlace;

// Nodes that are one step of the walk: how the gradients of `inputs` come from those of `outputs`,
// which may be absent, a function says. All inputs and outputs are of the same iteration, and no
// two steps end at one node. What the function adds has names under the scope of the gradients, and
// reads forward values and the gradients it is given as if there were but one iteration, in loops
// and conditionals of its own too, and so do gradients that it adds itself
// (GradientOptions::within).
struct GradientStep {
  std::vector<Output> inputs;
  std::vector<Output> outputs;
  std::function<Result<std::vector<GradientValue>>(const std::vector<GradientValue>&,
                                                   const GradientPlace&)>
      function;
};

struct GradientOptions {
  // The gradient that comes in at each y; empty, or a null Output: ones.
  std::vector<Output> grad_ys;
  // Nodes that pass nothing on to their inputs: treated as constants, also when they are xs
  // themselves.
  std::vector<Output> stop_gradients;
  // An x without a path gets an absent GradientValue instead of an error.
  bool allow_unconnected = false;
  // Gradient nodes get a colocation constraint with the node they differentiate.
  bool colocate = false;
  // Gradients by name, for nodes whose attribute "_gradient_op_type" has that name (B4.1).
  std::map<std::string, GradientOverride> overrides;
  std::vector<GradientStep> steps;
  std::string scope = "gradients";
  uint32_t site = 0;
  // A node of the loop that the new nodes belong to, where it is the loop of the gradient of the
  // one that ys and xs are in; null: they belong where ys are. The gradients are dense then.
  const Node* at = nullptr;
  // What the function of a step was called with, where it is that function that asks for gradients.
  const GradientPlace* within = nullptr;
  WorkBudget* work = nullptr;  // what may still be visited; null: as much as there is
};

// One value per x, absent where allow_unconnected lets it be.
Result<std::vector<GradientValue>> AddGradients(Graph* graph, const std::vector<Output>& ys,
                                                const std::vector<Output>& xs,
                                                const GradientOptions& options);

// True when values of this type can have a derivative: real and complex numbers, and handles that
// stand for them.
bool IsDifferentiable(DType dtype);

}  // namespace thalweg
