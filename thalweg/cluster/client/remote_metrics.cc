// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/client/remote_metrics.h"

#include <deque>
#include <memory>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/base/notification.h"
#include "thalweg/cluster/client/remote_target.h"
#include "thalweg/cluster/debug/task_metrics.h"
#include "thalweg/cluster/peers/peer_version.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
#include "thalweg/proto/json_writer.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

const char* WordsOf(PeerVersion version) {
  switch (version) {
    case PeerVersion::kThalweg:
      return "an older release of this server tells no numbers";
    case PeerVersion::k1_15:
      return "a server of TensorFlow 1 tells its devices alone";
    case PeerVersion::k2_21:
      break;
  }
  return "a server of TensorFlow 2 tells its devices alone";
}

std::string DevicesJson(const Message& status) {
  JsonWriter json;
  std::string_view task;
  json.BeginObject().Key("devices").BeginList();
  for (const Message* device : status.Messages(pb::GetStatusResponse::kDeviceAttributes)) {
    const std::string_view name = device->GetString(pb::DeviceAttributes::kName);
    if (task.empty()) task = TaskOf(name);
    json.BeginObject().Key("name").Text(name);
    json.Key("type").Text(device->GetString(pb::DeviceAttributes::kDeviceType));
    json.Key("limit_bytes").Number(device->GetInt(pb::DeviceAttributes::kMemoryLimit)).EndObject();
  }
  json.EndList().Key("task").Text(task);
  json.Key("lacks").Text(WordsOf(PeerVersionOf(status))).EndObject();
  return json.Take();
}

// What a target says, or why nothing.
class Question {
 public:
  Question(std::string target, Clock::TimePoint end) : target_(std::move(target)), end_(end) {}

  void Ask() {
    if (Status status = Connect(); !status.ok()) return End(std::move(status));
    Call(std::string(kMetricsMethod), [this](Result<std::string> answer) {
      if (answer.status().code() != Code::kUnimplemented) return End(std::move(answer));
      AskForDevices();
    });
  }
  Result<std::string> Await() {
    ended_.Wait();
    if (answer_.ok() || channel_ == nullptr) return std::move(answer_);
    return answer_.status().WithContext(StrCat("the numbers of ", target_));
  }

 private:
  Status Connect() {
    ASSIGN_OR_RETURN(channel_, ConnectTo(target_));
    return OkStatus();
  }
  void AskForDevices() {
    Call("/tensorflow.WorkerService/GetStatus", [this](Result<std::string> answer) {
      if (!answer.ok()) return End(std::move(answer));
      const Result<OwnedMessage> status =
          ParseMessage(pb::GetStatusResponse::Descriptor(), *std::move(answer));
      End(status.ok() ? Result<std::string>(DevicesJson(**status)) : status.status());
    });
  }
  void Call(const std::string& method, RpcChannel::Done done) {
    const std::chrono::nanoseconds left = end_ - SystemClock().Now();
    if (left.count() <= 0) return End(DeadlineExceeded("no answer in time"));
    channel_->Call(method, "", {.timeout = left}, std::move(done));
  }
  void End(Result<std::string> answer) {
    answer_ = std::move(answer);
    ended_.Notify();
  }

  const std::string target_;
  const Clock::TimePoint end_;
  Result<std::string> answer_ = Internal("no answer");
  Notification ended_;
  std::unique_ptr<RpcChannel> channel_;
};

}  // namespace

std::vector<Result<std::string>> MetricsRemote(const std::vector<std::string>& targets,
                                               std::chrono::nanoseconds timeout) {
  const Clock::TimePoint end = SystemClock().Now() + timeout;
  std::deque<Question> questions;
  for (const std::string& target : targets) questions.emplace_back(target, end).Ask();
  std::vector<Result<std::string>> answers;
  for (Question& question : questions) answers.push_back(question.Await());
  return answers;
}

}  // namespace thalweg
