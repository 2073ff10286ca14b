// SPDX-License-Identifier: Apache-2.0
// The definition of a function, as a FunctionDef message, from nodes of a graph.
//
//   ASSIGN_OR_RETURN(OwnedMessage definition,
//                    FunctionDefinition(graph, "half", {.args = {x}, .results = {y}}));
//
// All nodes of the graph are its body, but for those of the arguments, of which it does not matter
// what they are. Names of arguments and results are those of their nodes, as the schema language
// allows them.
// Ownership: the message is the caller's and holds nothing of the graph.
// Threads: any; nobody adds nodes meanwhile.
// Errors: InvalidArgument for what is no tensor of the graph and for two results of one name,
// FailedPrecondition for an open loop.
#pragma once

#include <string>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/proto/message.h"

namespace thalweg {

struct FunctionEnds {
  std::vector<Output> args;  // the only outputs of their nodes
  std::vector<Output> results;
  std::vector<std::string> result_names{};  // none: made from the nodes' names
};

Result<OwnedMessage> FunctionDefinition(const Graph& body, const std::string& name,
                                        const FunctionEnds& ends);

// As the schema language allows it: a small letter, then small letters, digits and "_"; `otherwise`
// stands before what begins in another way.
std::string ArgumentName(std::string_view text, std::string_view otherwise);

}  // namespace thalweg
