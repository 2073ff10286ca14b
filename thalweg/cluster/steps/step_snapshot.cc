// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/step_snapshot.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <utility>

#include "thalweg/cluster/steps/rpc_rendezvous.h"
#include "thalweg/cluster/steps/step_coordinator.h"
#include "thalweg/cluster/steps/step_service.h"

namespace thalweg {
namespace {

constexpr size_t kShownValues = 20;  // of each kind; a last line says how many more there are

// The handle of a session of which channels know the number; "" for 0.
std::string HandleOf(uint64_t session) {
  if (session == 0) return "";
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016" PRIx64, session);
  return text.data();
}

void ShortenLines(std::vector<std::string>* lines) {
  std::sort(lines->begin(), lines->end());
  if (lines->size() <= kShownValues) return;
  const size_t more = lines->size() - kShownValues;
  lines->resize(kShownValues);
  lines->push_back(StrCat("and ", more, " more"));
}

}  // namespace

StepSnapshot RpcStepRendezvous::Describe(Clock::TimePoint now) {
  StepSnapshot snapshot{.id = id_, .way = "calls", .age = now - made_};
  snapshot.values = here_.Describe(kShownValues, &snapshot.events);
  AppendAsked(&snapshot);
  snapshot.num_asked = snapshot.asked.size();
  MutexLock lock(mutex_);
  snapshot.session = session_;
  snapshot.begun = begun_;
  return snapshot;
}

StepSnapshot ChannelRendezvous::Describe() {
  const std::shared_ptr<const ChannelEdges> all = edges();
  StepSnapshot snapshot{.id = static_cast<int64_t>(id_), .way = "channels"};
  snapshot.values = here_.Describe(kShownValues, &snapshot.events);
  const auto add = [&](uint32_t number, const Place& place) {
    const std::string name = all == nullptr ? StrCat("edge ", number) : all->NameOf(number);
    if (place.waiter) {
      snapshot.asked.push_back(StrCat(name, " of ", place.owes->peer()));
    } else if (place.from != nullptr && !place.used) {
      snapshot.values.push_back(StrCat(name, " lies here"));
    }
  };
  {
    MutexLock lock(mutex_);
    snapshot.events += events_;
    for (size_t i = 0; i < places_.size(); ++i) add(static_cast<uint32_t>(i), places_[i]);
    for (const auto& [where, place] : looped_) add(where.first, place);
  }
  snapshot.num_asked = snapshot.asked.size();
  ShortenLines(&snapshot.asked);
  ShortenLines(&snapshot.values);
  return snapshot;
}

std::vector<StepSnapshot> StepService::Describe() {
  struct Found {
    std::string session;
    bool begun = false;
    StepTime age{};
    std::shared_ptr<ChannelRendezvous> rendezvous;
    std::shared_ptr<StepCoordinator> coordinated;
  };
  std::vector<Found> found;
  {
    MutexLock lock(mutex_);
    const StepTime now = Now();
    for (const auto& [id, step] : steps_) {
      const auto session = sessions_.find(MasterOfStep(id));
      const auto coordinated = coordinated_.find(id);
      found.push_back(
          {.session = HandleOf(session == sessions_.end() ? 0 : session->second.handle),
           .begun = step.started,
           .age = now - step.since,
           .rendezvous = step.rendezvous,
           .coordinated = coordinated == coordinated_.end() ? nullptr : coordinated->second});
    }
  }
  std::vector<StepSnapshot> snapshots;
  for (Found& step : found) {
    StepSnapshot& snapshot = snapshots.emplace_back(step.rendezvous->Describe());
    snapshot.session = std::move(step.session);
    snapshot.begun = step.begun;
    snapshot.age = step.age;
    if (step.coordinated != nullptr) step.coordinated->AppendOwed(&snapshot.asked);
  }
  std::ranges::sort(snapshots, {}, &StepSnapshot::id);
  return snapshots;
}

std::vector<StepSnapshot> DescribeSteps(RpcStepTable& by_calls, StepService& through_channels,
                                        Clock::TimePoint now) {
  std::vector<StepSnapshot> snapshots;
  for (const std::shared_ptr<RpcStepRendezvous>& step : by_calls.List()) {
    snapshots.push_back(step->Describe(now));
  }
  std::ranges::move(through_channels.Describe(), std::back_inserter(snapshots));
  return snapshots;
}

}  // namespace thalweg
