// SPDX-License-Identifier: Apache-2.0
// OpCosts: what a node costs, as far as its operation and the shapes of its values say: arithmetic
// operations, and bytes that go in and out.
//
//   const NodeCost cost = CostOf(*node);
//   if (cost.flops.has_value()) sum += *cost.flops;
//
// One table of operations is all there is to it. A multiplication with an addition counts as two, a
// function of one element (Exp, Tanh, a comparison) as one, what moves values as none. Products and
// convolutions are counted as they are defined, whatever the kernel does.
// Ownership: values.
// Threads: any.
// Errors: none; no number where the operation or a shape is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "thalweg/graph/graph.h"

namespace thalweg {

struct NodeCost {
  // None where the table does not know the operation, or shapes are not known.
  std::optional<double> flops;
  // Inputs and outputs, of which constants and variables are some. None where a shape is not
  // known; handles and strings count as their headers.
  std::optional<double> bytes;
};

// Whether the table knows the operation.
bool HasCost(std::string_view op);
NodeCost CostOf(const Node& node);

}  // namespace thalweg
