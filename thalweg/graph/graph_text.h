// SPDX-License-Identifier: Apache-2.0
// A graph as text for people: one line a node, by id. For dumps and for tests of passes.
//
//   x:0 float32[?,10] = Placeholder()
//   y:0 float32[?,10] = MatMul(x, w) {transpose_b: true} @/device:CPU:0 ^init
//   s:0 int32[1], s:1 int32[1] = Split(axis, x)
//   init = NoOp() ^a ^b
//
// An output of reference type has '&' after its type; an open back edge reads "?". Attributes that
// the types show anyway, and those that hold their default, are left out.
// Ownership: the text is the caller's.
// Threads: as for reading a Graph.
// Errors: none.
#pragma once

#include <string>

#include "thalweg/graph/graph.h"

namespace thalweg {

struct GraphTextOptions {
  bool shapes = true;
  bool sites = false;  // adds "# train.py:41"
};

// Without a line end.
std::string NodeText(const Node& node, const GraphTextOptions& options = {});
std::string GraphText(const Graph& graph, const GraphTextOptions& options = {});

}  // namespace thalweg
