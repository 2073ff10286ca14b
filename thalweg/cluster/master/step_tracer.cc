// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/step_tracer.h"

#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

constexpr std::chrono::seconds kTimeout{
    10};  // of a call; a trace without a task's transfers is still one

}  // namespace

StepTracer::StepTracer(WorkerClients& peers, RpcStepTable& steps, std::vector<std::string> tasks,
                       int64_t id, StepStats* stats)
    : peers_(peers), steps_(steps), tasks_(std::move(tasks)), id_(id), stats_(stats) {
  if (stats_ == nullptr) return;
  stats_->start_wall_micros = SystemClock().WallMicros();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    answers_.emplace_back(pb::RunGraphResponse::Descriptor());
  }
  OwnedMessage request(pb::LoggingRequest::Descriptor());
  request->SetBool(pb::LoggingRequest::kEnableRpcLogging, true);
  Ask(*request);
  steps_.transfers().Enable(true);
}

void StepTracer::Finish() {
  if (stats_ == nullptr) return;
  steps_.transfers().Enable(false);
  for (const OwnedMessage& answer : answers_) {
    Add(answer->GetMessage(pb::RunGraphResponse::kStepStats));
  }
  steps_.transfers().MoveTo(id_, stats_);
  OwnedMessage disable(pb::LoggingRequest::Descriptor());
  disable->SetBool(pb::LoggingRequest::kDisableRpcLogging, true);
  Ask(*disable);
  OwnedMessage fetch(pb::LoggingRequest::Descriptor());
  fetch->AddInt(pb::LoggingRequest::kFetchStepId, id_);
  for (const Result<OwnedMessage>& answer : Ask(*fetch)) {
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

std::vector<Result<OwnedMessage>> StepTracer::Ask(const Message& request) {
  std::vector<Result<OwnedMessage>> answers;
  for (const std::string& task : tasks_) {
    answers.push_back(peers_.Call(task, "Logging", request, pb::LoggingResponse::Descriptor(),
                                  {.timeout = kTimeout}));
  }
  return answers;
}

}  // namespace thalweg
