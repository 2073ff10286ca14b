// SPDX-License-Identifier: Apache-2.0
// SumGradients: the sum of the partials that reach one output over several paths. Sparse rows stay
// sparse as long as all of them are (their rows are put one after the other); beside a dense one
// they become dense.
// Ownership: nodes belong to the builder's graph.
// Threads: as GraphBuilder: one.
// Errors: stick in the builder.
#pragma once

#include <vector>

#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/graph_builder.h"

namespace thalweg {

// Absent for no partials. Errors stick in the builder.
GradientValue SumGradients(GraphBuilder& b, const Output& of, std::vector<GradientValue> partials);

}  // namespace thalweg
