// SPDX-License-Identifier: Apache-2.0
// What operations that call functions have in common: shapes from the body, gradients by
// SymbolicGradient of the function, which a step's compiler expands.
//
//   registry.Op("PartitionedCall").Shape(FunctionCallShape).Gradient(FunctionCallGradient);
//
// Ownership: shapes are values; nodes go to the graph of the context.
// Threads: those of the context: one at a time with a graph.
// Errors: InvalidArgument for a node without a function. Those in a body are not reported here:
// whoever runs the call sees them.
#pragma once

#include <vector>

#include "thalweg/graph/function_body.h"

namespace thalweg {

class GradientContext;
class ShapeContext;

// The function that a node calls: its attribute `f`, or the operation itself.
Result<FunctionRef> CalledFunction(const Node& node);

// Shapes of the values that `function` returns for inputs [first_input, ...) of the node; empty
// when nothing is known.
std::vector<PartialShape> FunctionOutputShapes(const ShapeContext& c, const FunctionRef& function,
                                               int first_input);

// Shapes of a loop's variables that hold in every round, as far as the first values and the body
// tell; empty when nothing is known. `counted`: the body takes a number before the variables.
std::vector<PartialShape> StableLoopShapes(const FunctionLibrary& library,
                                           const std::shared_ptr<const OpRegistry>& registry,
                                           const FunctionRef& body, std::vector<ArgShape> variables,
                                           bool counted);
// What two values have in common of which either may come.
PartialShape CommonShape(const PartialShape& a, const PartialShape& b);

Status FunctionCallShape(ShapeContext& c);
Status FunctionCallGradient(GradientContext& c);
// The same for a node that calls `function` with all its inputs.
Status FunctionGradient(GradientContext& c, const FunctionRef& function);
// For If, While and the like: the gradient of a function that holds nothing but the node.
Status WrappedCallGradient(GradientContext& c);

}  // namespace thalweg
