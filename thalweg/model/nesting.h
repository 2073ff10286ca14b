// SPDX-License-Identifier: Apache-2.0
// NestingOf: in how many branches and loops each node of a graph lies, by id. Not every step
// computes what lies in one.
//
//   const std::vector<int> nesting = NestingOf(graph);
//   if (nesting[static_cast<size_t>(node->id())] == 0) ... it is there in every step ...
//
// Ownership: a value.
// Threads: any.
// Errors: none; a node in a frame that is none counts as outside.
#pragma once

#include <vector>

#include "thalweg/graph/graph.h"

namespace thalweg {

std::vector<int> NestingOf(const Graph& graph);

}  // namespace thalweg
