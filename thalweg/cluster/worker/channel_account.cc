// SPDX-License-Identifier: Apache-2.0
// What steps through channels wait for.
#include "thalweg/cluster/worker/channel_account.h"

#include <algorithm>

#include "thalweg/cluster/worker/channel_steps.h"
#include "thalweg/cluster/worker/driven_step.h"

namespace thalweg {
namespace {

constexpr size_t kShown = 20;

void Shorten(std::vector<std::string>* lines) {
  std::sort(lines->begin(), lines->end());
  if (lines->size() <= kShown) return;
  const size_t more = lines->size() - kShown;
  lines->resize(kShown);
  lines->push_back(StrCat("and ", more, " more"));
}

}  // namespace

std::string ChannelEdges::NameOf(uint32_t number) const {
  for (const auto& [name, edge] : edges_) {
    if (edge.number == number) return name;
  }
  return StrCat("edge ", number);
}

ChannelStep::Account ChannelStep::Describe() {
  const std::shared_ptr<const ChannelEdges> all = edges();
  Account account;
  account.values = here_.Describe(kShown, &account.events);
  const auto add = [&](uint32_t number, const Place& place) {
    const std::string name = all == nullptr ? StrCat("edge ", number) : all->NameOf(number);
    if (place.waiter) {
      account.asked.push_back(StrCat(name, " of ", place.owes->peer()));
    } else if (place.from != nullptr && !place.used) {
      account.values.push_back(StrCat(name, " lies here"));
    }
  };
  {
    MutexLock lock(mutex_);
    account.events += events_;
    for (size_t i = 0; i < places_.size(); ++i) add(static_cast<uint32_t>(i), places_[i]);
    for (const auto& [where, place] : looped_) add(where.first, place);
  }
  Shorten(&account.asked);
  Shorten(&account.values);
  return account;
}

std::vector<ChannelStepAccount> ChannelSteps::Describe() {
  struct Found {
    ChannelStepAccount account;
    std::shared_ptr<ChannelStep> meeting;
    std::shared_ptr<DrivenStep> driven;
  };
  std::vector<Found> found;
  {
    MutexLock lock(mutex_);
    const StepTime now = Now();
    for (const auto& [id, step] : steps_) {
      const auto session = sessions_.find(MasterOfStep(id));
      const auto driven = driven_.find(id);
      found.push_back(
          {.account = {.id = static_cast<int64_t>(id),
                       .session = session == sessions_.end() ? 0 : session->second.handle,
                       .begun = step.started,
                       .age = now - step.since},
           .meeting = step.meeting,
           .driven = driven == driven_.end() ? nullptr : driven->second});
    }
  }
  std::vector<ChannelStepAccount> accounts;
  for (Found& step : found) {
    ChannelStep::Account account = step.meeting->Describe();
    if (step.driven != nullptr) step.driven->AppendOwed(&account.asked);
    step.account.asked = std::move(account.asked);
    step.account.values = std::move(account.values);
    step.account.events = account.events;
    accounts.push_back(std::move(step.account));
  }
  std::ranges::sort(accounts, {}, &ChannelStepAccount::id);
  return accounts;
}

}  // namespace thalweg
