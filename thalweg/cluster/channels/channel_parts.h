// SPDX-License-Identifier: Apache-2.0
// Edges between tasks get numbers when a graph is registered, so that what is pushed through a
// channel finds its place without a name. On the way to a task they are attributes of its Send and
// Recv nodes, which TensorFlow ignores.
//
//   ChannelPlanner planner(channels, self, {.timeout = timeout});
//   ASSIGN_OR_RETURN(RemoteStepPart part, planner.MarkPart(task, graph_def.get()));
//   ASSIGN_OR_RETURN(std::vector<MarkedEdge> edges, MarkedEdges(*graph_def));   // where it arrives
//
// Ownership: the channels outlive the planner.
// Threads: a planner from one at a time.
// Errors: Unimplemented where a step cannot go through channels: it is then run in TensorFlow's
// way; InvalidArgument for marks that do not fit each other.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/cluster/channels/channel_manager.h"
#include "thalweg/cluster/steps/step_coordinator.h"
#include "thalweg/graph/graph.h"
#include "thalweg/proto/message.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg {

// The channels and edges of one step over several tasks, as its master plans them.
class ChannelPlanner {
 public:
  // `making`: how long the making of a channel may take, and what ends it.
  ChannelPlanner(ChannelManager& channels, std::string self, RpcCallOptions making)
      : channels_(channels), self_(std::move(self)), making_(making) {}

  // Marks the graph of a part on another task, before it is registered there.
  Result<RemoteStepPart> MarkPart(const std::string& task, Message* graph_def);
  // The edges of a part of this task.
  Status AddHere(const Graph& graph);
  const std::shared_ptr<ChannelEdges>& edges() const { return edges_; }

 private:
  uint32_t NumberOf(const std::string& name);
  Status MarkNode(Message* node, RemoteStepPart* part);

  ChannelManager& channels_;
  const std::string self_;
  const RpcCallOptions making_;
  std::set<std::string> tasks_;
  std::map<std::string, uint32_t> numbers_;
  uint32_t next_ = 0;
  const std::shared_ptr<ChannelEdges> edges_ = std::make_shared<ChannelEdges>();
};

struct MarkedEdge {
  std::string name;  // as its nodes have it
  uint32_t number = 0;
  DType dtype = DType::kInvalid;
  std::string peer;  // the task at the other end
};
// Whether MarkPart has seen the graph.
bool IsMarked(const Message& graph_def);
Result<std::vector<MarkedEdge>> MarkedEdges(const Message& graph_def);

}  // namespace thalweg
