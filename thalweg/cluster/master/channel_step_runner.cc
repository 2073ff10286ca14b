// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/channel_step_runner.h"

#include <algorithm>
#include <optional>

#include "thalweg/base/clock.h"
#include "thalweg/session/run_metadata_message.h"

namespace thalweg {

bool ChannelStepRunner::knows_traces() const {
  return std::ranges::all_of(remote_, [](const RemoteStepPart& part) {
    return (part.connection->features() & kTracedSteps) != 0;
  });
}

Status ChannelStepRunner::Run(const StepRequest& request) {
  CancellationManager ends(&context_.stopping);
  const ScopedCancellation outside(request.cancellation,
                                   [&ends](const Status& why) { ends.Cancel(why); });
  std::optional<Health::Watch> watch;
  std::vector<Tensor> told(request.stats == nullptr ? 0 : remote_.size());
  CoordinateRequest coordinate{
      .session = NumberOfHandle(context_.session),
      .parts = remote_,
      .edges = edges_,
      .feeds = request.feeds,
      .fetches = request.fetches,
      .trace = {.times = request.stats != nullptr, .failures = request.is_watched},
      .traces = told,
      .timeout = TimeoutOfWorkers(request),
      .cancellation = &ends};
  if (!parts_.local.empty()) {
    coordinate.run_here = [&](ChannelRendezvous& step) { return RunHere(request, step); };
  }
  coordinate.opened = [&](uint64_t step) {
    if (request.stats != nullptr) request.stats->step_id = static_cast<int64_t>(step);
    watch.emplace(context_.health, WatchedStep(static_cast<int64_t>(step), parts_, request),
                  [&ends](const Status& why) { ends.Cancel(why); });
  };
  if (request.stats != nullptr) request.stats->start_wall_micros = SystemClock().WallMicros();
  Status status = context_.channels.steps().Coordinate(coordinate);
  if (request.stats != nullptr && (status.ok() || request.is_watched)) {
    Status added = AddTraces(told, request);
    if (status.ok()) return added;
  }
  if (status.ok() || ends.IsCancelled()) return status;  // whoever ended it has said why
  for (size_t i = 0; i < remote_.size(); ++i) {
    if (!remote_[i].connection->closed()) continue;
    return context_.health.WithTaskDiagnostics(status, parts_.remote[i].task);
  }
  return status;
}

Status ChannelStepRunner::RunHere(const StepRequest& request, ChannelRendezvous& step) {
  StepRequest here = request;
  here.step_id = static_cast<int64_t>(step.id());
  here.rendezvous = &step;
  here.collectives = &step;
  here.cancellation = &step.cancellation();
  here.timeout = std::chrono::nanoseconds(0);  // the watch's
  here.idle = &context_.channels.steps().hub();
  here.allocator = context_.channels.step_allocator();
  if (request.stats == nullptr) return parts_.local.Run(here);
  step.NoteTransfers(&context_.steps.transfers());
  Status status = parts_.local.Run(here);
  // At once: other parts may take longer.
  context_.steps.transfers().MoveTo(here.step_id, request.stats);
  return status;
}

Status ChannelStepRunner::AddTraces(std::span<const Tensor> told, const StepRequest& request) {
  StepStats* const stats = request.stats;
  for (size_t i = 0; i < told.size(); ++i) {
    if (told[i].empty()) {
      stats->silent.push_back(parts_.remote[i].task);
      continue;
    }
    Status added =
        AddEncodedStepStats({static_cast<const char*>(told[i].raw_data()), told[i].bytes()}, stats);
    if (added.ok()) continue;
    added = added.WithContext(StrCat("what ", parts_.remote[i].task, " told of the step"));
    if (!request.is_watched) return added;
    stats->silent.push_back(parts_.remote[i].task);
  }
  return OkStatus();
}

}  // namespace thalweg
