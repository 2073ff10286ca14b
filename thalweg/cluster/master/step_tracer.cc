// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/step_tracer.h"

#include <atomic>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/base/notification.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

// Of a call; a trace without a task's transfers is still one.
constexpr std::chrono::seconds kTimeout{10};
constexpr std::chrono::seconds kWatchedTimeout{1};  // so that no step waits for who looks on

}  // namespace

StepTracer::StepTracer(WorkerClients& peers, RpcStepTable& steps, std::vector<std::string> tasks,
                       int64_t id, const StepRequest& request)
    : peers_(peers), steps_(steps), tasks_(std::move(tasks)), id_(id), stats_(request.stats) {
  if (stats_ == nullptr) return;
  stats_->step_id = id;
  stats_->start_wall_micros = SystemClock().WallMicros();
  answers_.resize(tasks_.size());
  OwnedMessage enable(pb::LoggingRequest::Descriptor());
  enable->SetBool(pb::LoggingRequest::kEnableRpcLogging, true);
  Ask(tasks_, *enable,
      {.timeout = request.is_watched ? kWatchedTimeout : kTimeout,
       .cancellation = request.cancellation});
  steps_.transfers().Enable(true);
}

void StepTracer::Finish() {
  if (stats_ == nullptr) return;
  steps_.transfers().Enable(false);
  std::vector<std::string> there;  // nobody waits for a task that is gone
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const Message* const told = answers_[i].has_value()
                                    ? (*answers_[i])->FindMessage(pb::RunGraphResponse::kStepStats)
                                    : nullptr;
    if (answers_[i].has_value()) there.push_back(tasks_[i]);
    if (told != nullptr) {
      Add(*told);
    } else {
      stats_->silent.push_back(tasks_[i]);
    }
  }
  steps_.transfers().MoveTo(id_, stats_);
  OwnedMessage disable(pb::LoggingRequest::Descriptor());
  disable->SetBool(pb::LoggingRequest::kDisableRpcLogging, true);
  Ask(there, *disable, {.timeout = kTimeout});
  OwnedMessage fetch(pb::LoggingRequest::Descriptor());
  fetch->AddInt(pb::LoggingRequest::kFetchStepId, id_);
  for (const Result<OwnedMessage>& answer : Ask(there, *fetch, {.timeout = kTimeout})) {
    if (!answer.ok()) continue;
    for (const Message* step : (*answer)->Messages(pb::LoggingResponse::kStep)) {
      Add(step->GetMessage(pb::LabeledStepStats::kStepStats));
    }
  }
}

// As it came.
void StepTracer::Add(const Message& told) {
  AppendSerialized(told, stats_->encoded).IgnoreError();  // too large: missing in the trace
}

std::vector<Result<OwnedMessage>> StepTracer::Ask(const std::vector<std::string>& tasks,
                                                  const Message& request,
                                                  const RpcCallOptions& options) {
  struct Open {
    std::atomic<size_t> calls;
    Notification ended;
  } open{.calls = tasks.size(), .ended = {}};
  std::vector<Result<OwnedMessage>> answers;
  for (size_t i = 0; i < tasks.size(); ++i) answers.emplace_back(Unavailable("no answer yet"));
  for (size_t i = 0; i < tasks.size(); ++i) {
    peers_.Call(tasks[i], "Logging", request, pb::LoggingResponse::Descriptor(), options,
                [&, i](Result<OwnedMessage> answer) {
                  answers[i] = std::move(answer);
                  if (--open.calls == 0) open.ended.Notify();
                });
  }
  if (!tasks.empty()) open.ended.Wait();
  return answers;
}

}  // namespace thalweg
