// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/channel_callable.h"

#include <atomic>
#include <utility>
#include <vector>

#include "thalweg/session/run_metadata_message.h"

namespace thalweg {

Status RunCallableByChannel(const ChannelCallable& callable,
                            const std::shared_ptr<Connection>& client, ChannelRendezvous& step,
                            PartRun& how, ChannelHub& hub) {
  const MasterSession::Prepared& prepared = callable.prepared;
  const size_t num_feeds = prepared.feeds.size();
  std::vector<Tensor> feeds(num_feeds);
  for (size_t i = 0; i < num_feeds; ++i) {
    std::atomic<bool> here{false};
    Status status;
    // Any type: the callable checks its feeds.
    const ChannelEdge edge{.number = static_cast<uint32_t>(i), .connection = client};
    step.RecvEdge(edge, [&feeds, &status, &here, i, wake = &hub](Result<Delivery> got) {
      if (got.ok()) feeds[i] = std::move(got->tensor);
      status = got.status();
      here.store(true, std::memory_order_release);
      wake->Wake();
    });
    hub.WorkUntil([&] { return here.load(std::memory_order_acquire); });
    RETURN_IF_ERROR(status);
    if (feeds[i].empty()) return InvalidArgument("feed ", i, " is no tensor");
  }
  std::vector<Tensor> fetches(prepared.num_fetches);
  RunOptions options;
  options.timeout = how.timeout;
  options.cancellation = &step.cancellation();
  if (how.trace.times) options.trace = TraceLevel::kFull;
  options.partition_graphs = how.trace.graphs;
  RunMetadata metadata;
  RecordedRun run(callable.recorder, callable.session, {.fetches = *prepared.names}, &options,
                  how.trace.any() ? &metadata : nullptr);
  RETURN_IF_ERROR(run.End(prepared.callable->Run(options, feeds, fetches, run.metadata())));
  if (how.trace.any()) {
    ASSIGN_OR_RETURN(how.told, RunMetadataMessage(std::move(metadata)));
  }
  for (size_t i = 0; i < fetches.size(); ++i) {
    const ChannelEdge edge{.number = static_cast<uint32_t>(num_feeds + i), .connection = client};
    RETURN_IF_ERROR(
        ChannelRendezvous::PushEdge(step.id(), edge, 0, {std::move(fetches[i]), false}));
  }
  return OkStatus();
}

}  // namespace thalweg
