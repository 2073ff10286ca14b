// SPDX-License-Identifier: Apache-2.0
// Graphs as GraphDef messages, binary and text.
//
//   ASSIGN_OR_RETURN(ImportedGraph in, ImportGraphDefBytes(bytes, graph, {.prefix = "model"}));
//   ASSIGN_OR_RETURN(std::string out, ExportGraphDefBytes(graph));
//
// Import: nodes in any order; loops through NextIteration into Merge; what was refused leaves the
// nodes of the graph as they were (if nobody else added some meanwhile). Functions join the
// graph's library. Export: nodes by id, attributes complete, the same graph gives the same bytes.
// Ownership: an ImportedGraph points at nodes of the graph; a message that is exported holds
// copies.
// Threads: as for Graph.
// Errors: InvalidArgument (malformed nodes, unknown inputs, cycles, versions), NotFound (unknown
// operations, return nodes), ResourceExhausted (constants above 2 GB; a claim of more memory than
// the message could give).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/proto/message.h"

namespace thalweg {

// The GraphDef version that this library writes and understands: that of release 2.21.
inline constexpr int kGraphDefVersion = 2474;

struct ImportOptions {
  // Put with a '/' before all names of the GraphDef.
  std::string prefix;
  // Inputs of the GraphDef, "name" or "name:1", that are replaced by outputs of the graph. "^name"
  // replaces a control input by the node of the output.
  std::vector<std::pair<std::string, Output>> input_map;
  // Run before every imported node that has no inputs of its own.
  std::vector<Node*> control_dependencies;
  // "name:0" and "name" of the GraphDef (without prefix) or keys of input_map: see ImportedGraph.
  std::vector<std::string> return_outputs;
  std::vector<std::string> return_nodes;
  // For nodes that name none.
  std::string default_device;
  bool clear_devices = false;
  bool validate_versions = true;
  // The producer's operations (an OpList, as a MetaGraph holds one): an attribute that is unknown
  // here and has the producer's default is dropped. Without it, every unknown one is an error.
  const Message* producer_ops = nullptr;
  // Bytes that constants may claim without giving them (a value repeated), all together.
  size_t claim_budget = size_t{1} << 30;
  // Values of constants, and what strings hold, count against its limit. Null: only what is
  // claimed counts, in the process.
  Allocator* allocator = nullptr;
};

struct ImportedGraph {
  std::vector<Node*> nodes;  // in the order of the GraphDef
  std::vector<Output> return_outputs;
  std::vector<Node*> return_nodes;
};

Result<ImportedGraph> ImportGraphDef(const Message& def, Graph& graph,
                                     const ImportOptions& options = {});
Result<ImportedGraph> ImportGraphDefBytes(std::string_view bytes, Graph& graph,
                                          const ImportOptions& options = {});
Result<ImportedGraph> ImportGraphDefText(std::string_view text, Graph& graph,
                                         const ImportOptions& options = {});
// Adds the functions of a FunctionDefLibrary.
Status ImportFunctions(const Message& library, FunctionLibrary& functions);

struct ExportOptions {
  // Leaves out attributes that hold their default.
  bool strip_defaults = false;
  // Leaves out attributes that release 1.15 does not know where they hold their default, so that
  // it can read the graph.
  bool for_1_15 = false;
  // Where nodes were made, as GraphDef.debug_info (release 1.15 ignores it).
  bool call_sites = false;
  // Nodes from this one on, by id.
  size_t first_node = 0;
};

Result<OwnedMessage> ExportGraphDef(const Graph& graph, const ExportOptions& options = {});
Result<std::string> ExportGraphDefBytes(const Graph& graph, const ExportOptions& options = {});
Result<std::string> ExportGraphDefText(const Graph& graph, const ExportOptions& options = {});
// One node. `proto` must be empty.
Status NodeToProto(const Node& node, Message* proto, const ExportOptions& options = {});
void ExportFunctions(const FunctionLibrary& functions, Message* library);

}  // namespace thalweg
