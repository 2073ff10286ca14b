// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/told_calls.h"

#include <chrono>

#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

constexpr std::chrono::seconds kPatience{1};

}  // namespace

void ToldCalls::Begin(int64_t step, CancellationManager* ends) {
  const auto end = [this, step](const Status& why) { EndStep(step, why); };
  if (!ended_.Begin(ends, end)) calls_.Cancel(ends->Reason());  // nothing has begun anywhere
}

void ToldCalls::EndStep(int64_t step, const Status& why) {
  cut_off_ = timer_.Add(Deadline(steps_.Now() + kPatience), [this, why] { calls_.Cancel(why); });
  OwnedMessage request(pb::CleanupGraphRequest::Descriptor());
  request->SetInt(pb::CleanupGraphRequest::kStepId, step);
  for (const std::string& task : tasks_) {
    peers_.Call(task, "CleanupGraph", *request, pb::CleanupGraphResponse::Descriptor(),
                {.timeout = kPatience}, [](Result<OwnedMessage>) {});
  }
}

void ToldCalls::End() {
  ended_.End();
  timer_.Remove(cut_off_);
}

}  // namespace thalweg
