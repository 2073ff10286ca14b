// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/echoes.h"

#include "thalweg/cluster/transport/hello.h"

namespace thalweg {

Status Echoes::Send(const std::shared_ptr<Connection>& to, const Tensor* bytes,
                    Clock::TimePoint until) {
  if ((to->features() & kEchoes) == 0) {
    return Unimplemented(to->peer(), " is older than echoes through channels");
  }
  std::atomic<bool> answered{false};
  uint64_t number = 0;
  {
    MutexLock lock(mutex_);
    number = next_++;
    waiting_[number] = &answered;
  }
  if (bytes == nullptr) {
    to->channel().Send(Encode(EchoMessage{.number = number}).view());
  } else {
    to->Push({.step = kEchoStep, .frame = number, .dtype = bytes->dtype(), .shape = bytes->shape()},
             *bytes);
  }
  hub_.WorkUntil([&] { return answered.load() || to->closed(); }, until);
  {
    MutexLock lock(mutex_);
    waiting_.erase(number);
  }
  if (answered.load()) return OkStatus();
  if (to->closed()) return Unavailable("the channel to ", to->peer(), " is closed");
  return DeadlineExceeded(to->peer(), " has not answered an echo");
}

void Echoes::Hear(Connection& connection, const EchoMessage& echo) {
  if (!echo.is_answer) {
    connection.channel().Send(Encode(EchoMessage{.number = echo.number, .is_answer = true}).view());
    return;
  }
  {
    MutexLock lock(mutex_);
    const auto found = waiting_.find(echo.number);
    if (found == waiting_.end()) return;  // too late
    found->second->store(true);
  }
  hub_.Wake();
}

void Echoes::Answer(Connection& connection, const TensorHead& head) {
  connection.channel().Send(Encode(EchoMessage{.number = head.frame, .is_answer = true}).view());
}

}  // namespace thalweg
