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
  options_ = {.timeout = request.is_watched ? kWatchedTimeout : kTimeout,
              .cancellation = request.cancellation};
  if (stats_ == nullptr) return;
  stats_->step_id = id;
  stats_->start_wall_micros = SystemClock().WallMicros();
  answers_.resize(tasks_.size());
  // With the step's number: tasks of ours log only this one, TensorFlow's have nothing of it yet.
  OwnedMessage enable(pb::LoggingRequest::Descriptor());
  enable->AddInt(pb::LoggingRequest::kFetchStepId, id_);
  enable->SetBool(pb::LoggingRequest::kEnableRpcLogging, true);
  Ask(tasks_, *enable, options_);
  steps_.transfers().Enable(id_);
}

void StepTracer::Finish() {
  if (stats_ == nullptr) return;
  steps_.transfers().Disable(id_);
  OwnedMessage disable(pb::LoggingRequest::Descriptor());
  disable->AddInt(pb::LoggingRequest::kFetchStepId, id_);
  disable->SetBool(pb::LoggingRequest::kDisableRpcLogging, true);
  const bool has_left = options_.cancellation != nullptr && options_.cancellation->IsCancelled();
  std::vector<std::string> there;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const Message* const told = answers_[i].has_value()
                                    ? (*answers_[i])->FindMessage(pb::RunGraphResponse::kStepStats)
                                    : nullptr;
    if (answers_[i].has_value() && !has_left) {
      there.push_back(tasks_[i]);
    } else {  // nobody waits for a task that may be gone; if it is not, it would log for ever
      peers_.Call(tasks_[i], "Logging", *disable, pb::LoggingResponse::Descriptor(),
                  {.timeout = kTimeout}, [](Result<OwnedMessage>) {});
    }
    if (told != nullptr) {
      Add(*told);
    } else {
      stats_->silent.push_back(tasks_[i]);
    }
  }
  steps_.transfers().MoveTo(id_, stats_);
  for (const Result<OwnedMessage>& answer : Ask(there, *disable, options_)) {
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
