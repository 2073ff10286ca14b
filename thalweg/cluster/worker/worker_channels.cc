// SPDX-License-Identifier: Apache-2.0
// What a worker runs through channels.
#include "thalweg/cluster/master/channel_parts.h"
#include "thalweg/cluster/worker/worker.h"
#include "thalweg/proto/messages.h"

namespace thalweg {

// The channels of a graph whose master numbered the edges between tasks; null where it did not.
Result<std::shared_ptr<ChannelEdges>> Worker::LinkEdges(const Message& request) {
  constexpr std::chrono::seconds kMeeting{3};  // with who is there
  namespace Request = pb::RegisterGraphRequest;
  const Message& graph_def = request.GetMessage(Request::kGraphDef);
  if (!IsMarked(graph_def)) return std::shared_ptr<ChannelEdges>();
  ASSIGN_OR_RETURN(const std::vector<MarkedEdge> marked, MarkedEdges(graph_def));
  auto edges = std::make_shared<ChannelEdges>();
  for (const MarkedEdge& edge : marked) {
    ASSIGN_OR_RETURN(std::shared_ptr<Link> link, links_.Get(edge.peer, {.timeout = kMeeting}));
    edges->Add(edge.name, {edge.number, edge.dtype, std::move(link)});
  }
  RETURN_IF_ERROR(
      links_.steps().AddSession(NumberOfHandle(request.GetString(Request::kSessionHandle))));
  return edges;
}

Status Worker::RunPushed(const RegisteredGraph& graph, ChannelStep& step,
                         std::chrono::nanoseconds timeout, PeerLinks* links) {
  StepRequest run;
  run.step_id = static_cast<int64_t>(step.id());
  run.timeout = timeout;
  run.rendezvous = &step;
  run.feeds_and_fetches = &step;
  run.cancellation = &step.cancellation();
  run.idle = &links->steps().hub();
  run.allocator = links->step_allocator();
  return graph.plan->prepared->Run(run);
}

}  // namespace thalweg
