// SPDX-License-Identifier: Apache-2.0
// FunctionBody: a function of a library as a graph, its attributes put in.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<const FunctionBody> body,
//                    InstantiateFunction(graph.library(), graph.shared_registry(), {"f", attrs}));
//
// Reads both forms of inputs: "node:output:0" and "node:0". The graph finds the library's functions
// by name, so nested calls stay calls.
// Ownership: bodies are kept in the library, one for each name and attributes; the library outlives
// them.
// Threads: any; a body is read-only.
// Errors: NotFound with the nearest names for an unknown function, InvalidArgument for what is
// malformed: each names function and node.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/graph/function.h"
#include "thalweg/graph/graph.h"

namespace thalweg {

struct FunctionBody {
  std::string name;
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;  // _Arg nodes, one for each input of a call
  std::vector<Output> rets;
  // Nodes that run whenever the function does: those its definition names, and stateful ones
  // outside of loop frames.
  std::vector<Node*> effects;
  bool has_switches = false;  // outside of loop frames: an effect may be dead
  // What rets and effects need, without args, sources first but for back edges.
  std::vector<Node*> order;
};

// What is known of an argument beforehand.
struct ArgShape {
  PartialShape shape;
  const HandleShape* handle = nullptr;
};

// With `shapes`, shapes in the body are inferred from them, and the body is not kept.
Result<std::shared_ptr<const FunctionBody>> InstantiateFunction(
    const FunctionLibrary& library, const std::shared_ptr<const OpRegistry>& registry,
    const FunctionRef& function, const std::vector<ArgShape>* shapes = nullptr);

// Sources first, but for back edges; otherwise by id.
std::vector<Node*> NodesInOrder(const Graph& graph);
// Adds the stateful nodes outside of loop frames to `effects`.
void AddEffects(FunctionBody& body);
// Fills `order` and `has_switches` from rets and effects.
void SortBody(FunctionBody& body);

}  // namespace thalweg
