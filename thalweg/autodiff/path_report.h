// SPDX-License-Identifier: Apache-2.0
// ReportBrokenPath: why an x has no gradient, in one sentence: y does not depend on it at all, or
// the node where the shortest path from y back to x stops being differentiable.
// Ownership: the text is the caller's.
// Threads: as for reading a Graph.
// Errors: none; the caller makes one of it.
#pragma once

#include <string>
#include <vector>

#include "thalweg/graph/graph.h"

namespace thalweg {

std::string ReportBrokenPath(const std::vector<Output>& ys, const Output& x);

}  // namespace thalweg
