// SPDX-License-Identifier: Apache-2.0
// StackLinks: which loops give values to which others by a Stack, without an edge: what one pushes
// the other pops. TensorFlow's gradients of while loops remember the iterations in this way, and a
// GraphDef may bring them along; the walk sees no path there.
// Ownership: points at frames of LoopFrames.
// Threads: as for reading a Graph.
// Errors: none; a Stack whose other end is not found links nothing.
#pragma once

#include <utility>
#include <vector>

#include "thalweg/autodiff/loop_frames.h"
#include "thalweg/graph/graph.h"

namespace thalweg {

struct StackLink {
  Frame* writer = nullptr;  // pushes
  Frame* reader = nullptr;  // pops
};

// Between the outermost loops, each pair once, in the order of the nodes that pop.
std::vector<StackLink> FindStackLinks(const Graph& graph, const LoopFrames& frames);

}  // namespace thalweg
