// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/peers.h"

#include <utility>

#include "thalweg/base/notification.h"
#include "thalweg/kernel/device_name.h"
#include "thalweg/proto/wire.h"

namespace thalweg {

std::string TaskName(std::string_view job, int task) {
  return StrCat("/job:", job, "/replica:0/task:", task);
}

std::string_view TaskOf(std::string_view device) {
  return device.substr(0, device.find("/device:"));
}

std::vector<std::string> Peers::Others() const {
  std::vector<std::string> others;
  for (const auto& [job, tasks] : spec_.jobs()) {
    for (const auto& [task, address] : tasks) {
      if (std::string name = TaskName(job, task); name != self_) others.push_back(std::move(name));
    }
  }
  return others;
}

Result<RpcChannel*> Peers::ChannelTo(std::string_view task) {
  MutexLock lock(mutex_);
  std::unique_ptr<RpcChannel>& channel = channels_[std::string(task)];
  if (channel == nullptr) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
    if (!name.job || !name.task) return InvalidArgument("'", task, "' is no task");
    ASSIGN_OR_RETURN(const std::string address, spec_.Address(*name.job, *name.task));
    ASSIGN_OR_RETURN(channel, RpcChannel::Connect(address));
  }
  return channel.get();
}

void Peers::Call(std::string_view task, std::string_view method, const Message& request,
                 const MessageDescriptor& response, const RpcCallOptions& options, Done done) {
  const Result<RpcChannel*> channel = ChannelTo(task);
  if (!channel.ok()) return done(channel.status());
  Result<std::string> bytes = Serialize(request);
  if (!bytes.ok()) return done(bytes.status());
  (*channel)->Call(StrCat("/tensorflow.WorkerService/", method), *std::move(bytes), options,
                   [done = std::move(done), &response, task = std::string(task),
                    method = std::string(method)](Result<std::string> answer) {
                     if (!answer.ok()) {
                       return done(answer.status().WithContext(StrCat(method, " on ", task)));
                     }
                     Result<OwnedMessage> parsed = ParseMessage(response, *std::move(answer));
                     if (parsed.ok()) return done(std::move(parsed));
                     done(Internal("the answer of ", method, " on ", task,
                                   " cannot be read: ", parsed.status().message()));
                   });
}

Result<OwnedMessage> Peers::Call(std::string_view task, std::string_view method,
                                 const Message& request, const MessageDescriptor& response,
                                 const RpcCallOptions& options) {
  Notification ended;
  Result<OwnedMessage> result = Internal("no answer");
  Call(task, method, request, response, options, [&](Result<OwnedMessage> got) {
    result = std::move(got);
    ended.Notify();
  });
  ended.Wait();
  return result;
}

}  // namespace thalweg
