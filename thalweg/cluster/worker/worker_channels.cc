// SPDX-License-Identifier: Apache-2.0
// What a worker runs through channels.
#include "thalweg/cluster/channels/channel_parts.h"
#include "thalweg/cluster/worker/worker.h"
#include "thalweg/proto/messages.h"
#include "thalweg/session/run_metadata_message.h"

namespace thalweg {

// The channels of a graph whose master numbered the edges between tasks; null where it did not.
Result<std::shared_ptr<ChannelEdges>> Worker::ConnectEdges(const Message& request) {
  constexpr std::chrono::seconds kConnectTimeout{3};  // with who is there
  namespace Request = pb::RegisterGraphRequest;
  const Message& graph_def = request.GetMessage(Request::kGraphDef);
  if (!IsMarked(graph_def)) return std::shared_ptr<ChannelEdges>();
  ASSIGN_OR_RETURN(const std::vector<MarkedEdge> marked, MarkedEdges(graph_def));
  auto edges = std::make_shared<ChannelEdges>();
  for (const MarkedEdge& edge : marked) {
    ASSIGN_OR_RETURN(std::shared_ptr<Connection> connection,
                     channels_.Get(edge.peer, {.timeout = kConnectTimeout}));
    edges->Add(edge.name, {edge.number, edge.dtype, std::move(connection)});
  }
  RETURN_IF_ERROR(
      channels_.steps().AddSession(NumberOfHandle(request.GetString(Request::kSessionHandle))));
  return edges;
}

Status Worker::RunByChannel(const RegisteredGraph& graph, ChannelRendezvous& step, PartRun& how) {
  StepRequest run;
  run.step_id = static_cast<int64_t>(step.id());
  run.timeout = how.timeout;
  run.rendezvous = &step;
  run.collectives = &step;
  run.feeds_and_fetches = &step;
  run.cancellation = &step.cancellation();
  run.idle = &channels_.steps().hub();
  run.allocator = channels_.step_allocator();
  StepCounter::Open open(parts_);
  if (!how.trace.any()) return open.End(graph.plan->prepared->Run(run));
  StepStats stats;
  run.stats = &stats;
  step.NoteTransfers(&steps_.transfers());
  Status status = open.End(graph.plan->prepared->Run(run));
  steps_.transfers().MoveTo(run.step_id, &stats);
  if (status.ok() || how.trace.failures) how.told = EncodeStepStats(std::move(stats));
  return status;
}

}  // namespace thalweg
