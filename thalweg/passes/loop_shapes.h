// SPDX-License-Identifier: Apache-2.0
// LoopShapes: what is known of the variables of loops that a function's body has as frames. A Merge
// is made before its back edge, so inference alone knows nothing of its value, nor of what is
// computed from it.
//
// Ownership: values.
// Threads: as for a Graph.
// Errors: none; what a shape function refuses is not known.
#pragma once

#include <memory>
#include <vector>

#include "thalweg/graph/function_body.h"

namespace thalweg {

// By node of the body: the shape of a loop's Merge that holds in every round when the body is
// called with `args`. Empty where the body has no such loops, or nothing is known of them.
std::vector<PartialShape> LoopShapes(const FunctionLibrary& library, const FunctionBody& body,
                                     const std::vector<Output>& args);

}  // namespace thalweg
