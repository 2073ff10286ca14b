// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/worker_clients.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "thalweg/base/notification.h"
#include "thalweg/kernel/device_name.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

constexpr std::chrono::seconds kStatusTimeout{30};

}  // namespace

std::string TaskName(std::string_view job, int task) {
  return StrCat("/job:", job, "/replica:0/task:", task);
}

std::string_view TaskOf(std::string_view device) {
  return device.substr(0, device.find("/device:"));
}

uint64_t NumberOfHandle(std::string_view handle) {
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(handle.data(), handle.data() + handle.size(), number, 16);
  return error == std::errc() && end == handle.data() + handle.size() ? number : 0;
}

std::vector<std::string> WorkerClients::Others() const {
  std::vector<std::string> others;
  MutexLock lock(mutex_);
  for (const auto& [job, tasks] : spec_.jobs()) {
    for (const auto& [task, address] : tasks) {
      if (std::string name = TaskName(job, task); name != self_) others.push_back(std::move(name));
    }
  }
  return others;
}

std::string WorkerClients::AddressOf(std::string_view task) const {
  const Result<DeviceName> name = DeviceName::Parse(task);
  if (!name.ok() || !name->job || !name->task) return "?";
  MutexLock lock(mutex_);
  const Result<std::string> address = spec_.Address(*name->job, *name->task);
  return address.ok() ? *address : "?";
}

Status WorkerClients::Update(const Message& cluster_def, bool only_new) {
  ASSIGN_OR_RETURN(const ClusterSpec now, ClusterSpec::FromMessage(cluster_def));
  MutexLock lock(mutex_);
  for (const auto& [job, tasks] : now.jobs()) {
    for (const auto& [task, address] : tasks) {
      const std::string name = TaskName(job, task);
      const Result<std::string> before = spec_.Address(job, task);
      if (name == self_ || (before.ok() && (only_new || *before == address))) continue;
      spec_.Move(job, task, address);
      for (Channels* const channels : {&channels_, &aside_}) {
        const auto found = channels->find(name);
        if (found == channels->end()) continue;
        if (found->second != nullptr) left_.push_back(std::move(found->second));
        channels->erase(found);
      }
      incarnations_.erase(name);
    }
  }
  return OkStatus();
}

Result<RpcChannel*> WorkerClients::ChannelTo(std::string_view task, bool aside) {
  MutexLock lock(mutex_);
  std::unique_ptr<RpcChannel>& channel = (aside ? aside_ : channels_)[std::string(task)];
  if (channel == nullptr) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
    if (!name.job || !name.task) return InvalidArgument("'", task, "' is no task");
    ASSIGN_OR_RETURN(const std::string address, spec_.Address(*name.job, *name.task));
    ASSIGN_OR_RETURN(channel, RpcChannel::Connect(address, {.tls = tls_}));
  }
  return channel.get();
}

void WorkerClients::Call(std::string_view task, std::string_view method, const Message& request,
                         const MessageDescriptor& response, const RpcCallOptions& options,
                         Done done) {
  CallOn(ChannelTo(task, false), task, method, request, response, options, std::move(done));
}

void WorkerClients::CallAside(std::string_view task, std::string_view method,
                              const Message& request, const MessageDescriptor& response,
                              const RpcCallOptions& options, Done done) {
  CallOn(ChannelTo(task, true), task, method, request, response, options, std::move(done));
}

void WorkerClients::CallOn(const Result<RpcChannel*>& channel, std::string_view task,
                           std::string_view method, const Message& request,
                           const MessageDescriptor& response, const RpcCallOptions& options,
                           Done done) {
  if (!channel.ok()) return done(channel.status());
  Result<std::string> bytes = Serialize(request, kMaxCallBytes);
  if (!bytes.ok()) return done(bytes.status());
  traffic_->AddSent(bytes->size());
  (*channel)->Call(
      StrCat("/tensorflow.WorkerService/", method), *std::move(bytes), options,
      [done = std::move(done), &response, task = std::string(task), address = AddressOf(task),
       method = std::string(method), traffic = traffic_](Result<std::string> answer) {
        if (answer.ok()) traffic->AddReceived(answer->size());
        if (!answer.ok()) {
          return done(
              answer.status().WithContext(StrCat(method, " on ", task, " (", address, ")")));
        }
        Result<OwnedMessage> parsed =
            ParseMessage(response, *std::move(answer), {.max_bytes = kMaxCallBytes});
        if (parsed.ok()) return done(std::move(parsed));
        done(Internal("the answer of ", method, " on ", task,
                      " cannot be read: ", parsed.status().message()));
      });
}

void WorkerClients::CallBytes(std::string_view task, std::string_view method, std::string request,
                              const RpcCallOptions& options, RpcChannel::Done done) {
  const Result<RpcChannel*> channel = ChannelTo(task, false);
  if (!channel.ok()) return done(channel.status());
  traffic_->AddSent(request.size());
  (*channel)->Call(StrCat("/tensorflow.WorkerService/", method), std::move(request), options,
                   [done = std::move(done), what = StrCat(method, " on ", task),
                    traffic = traffic_](Result<std::string> answer) {
                     if (answer.ok()) traffic->AddReceived(answer->size());
                     if (answer.ok()) return done(std::move(answer));
                     done(answer.status().WithContext(what));
                   });
}

Result<OwnedMessage> WorkerClients::Call(std::string_view task, std::string_view method,
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

void WorkerClients::NoteStatus(std::string_view task, const Message& status) {
  Incarnation incarnation = {.version = PeerVersionOf(status), .devices = {}};
  for (const Message* device : status.Messages(pb::GetStatusResponse::kDeviceAttributes)) {
    incarnation.devices.push_back(device->GetUint(pb::DeviceAttributes::kIncarnation));
  }
  MutexLock lock(mutex_);
  incarnations_[std::string(task)] = std::move(incarnation);
}

std::optional<PeerVersion> WorkerClients::KnownVersion(std::string_view task) {
  MutexLock lock(mutex_);
  const auto found = incarnations_.find(task);
  if (found == incarnations_.end()) return std::nullopt;
  return found->second.version;
}

void WorkerClients::FindVersion(std::string_view task, uint64_t incarnation,
                                CancellationManager* cancellation, VersionDone done) {
  std::optional<PeerVersion> known;
  {
    MutexLock lock(mutex_);
    const auto found = incarnations_.find(task);
    if (found != incarnations_.end()) {
      const std::vector<uint64_t>& all = found->second.devices;
      if (incarnation == 0 || std::find(all.begin(), all.end(), incarnation) != all.end()) {
        known = found->second.version;
      }
    }
  }
  if (known.has_value()) return done(*known);
  const OwnedMessage ask(pb::GetStatusRequest::Descriptor());
  Call(task, "GetStatus", *ask, pb::GetStatusResponse::Descriptor(),
       {.timeout = kStatusTimeout, .wait_for_ready = true, .cancellation = cancellation},
       [this, done = std::move(done), task = std::string(task)](Result<OwnedMessage> status) {
         if (!status.ok()) return done(status.status());
         NoteStatus(task, **status);
         done(PeerVersionOf(**status));
       });
}

}  // namespace thalweg
