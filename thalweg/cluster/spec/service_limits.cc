// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/spec/service_limits.h"

#include "thalweg/proto/messages.h"

namespace thalweg {

Status ServiceLimits::CheckSessions(size_t open) const {
  if (static_cast<int64_t>(open) < max_sessions) return OkStatus();
  return ResourceExhausted("this server keeps at most ", max_sessions,
                           " sessions (--max-sessions): close some");
}

Status ServiceLimits::CheckNodes(const Message& graph_def, int64_t present) const {
  auto nodes = present + static_cast<int64_t>(graph_def.Messages(pb::GraphDef::kNode).size());
  const Message& library = graph_def.GetMessage(pb::GraphDef::kLibrary);
  for (const Message* function : library.Messages(pb::FunctionDefLibrary::kFunction)) {
    nodes += static_cast<int64_t>(function->Messages(pb::FunctionDef::kNodeDef).size());
  }
  if (nodes <= max_nodes) return OkStatus();
  return ResourceExhausted("the graph has ", nodes, " nodes; this server takes at most ", max_nodes,
                           " (--max-graph-nodes)");
}

}  // namespace thalweg
