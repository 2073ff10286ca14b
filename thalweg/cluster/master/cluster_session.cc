// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/cluster_session.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/cluster/master/remote_device.h"
#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

Result<std::vector<std::string>> AdmittedTasks(const Peers& peers,
                                               const std::vector<std::string>& filters) {
  std::vector<DeviceName> constraints;
  for (const std::string& filter : filters) {
    const Result<DeviceName> parsed = DeviceName::Parse(filter);
    if (!parsed.ok()) return parsed.status().WithContext(StrCat("device filter ", filter));
    DeviceName& task = constraints.emplace_back();
    task.job = parsed->job;
    task.replica = parsed->replica;
    task.task = parsed->task;
  }
  std::vector<std::string> admitted;
  for (std::string& task : peers.Others()) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
    bool admit = constraints.empty();
    for (const DeviceName& constraint : constraints) admit |= constraint.Admits(name);
    if (admit) admitted.push_back(std::move(task));
  }
  return admitted;
}

// One call to each of the tasks at once; answers in their order.
Result<std::vector<OwnedMessage>> CallAll(Peers& peers, const std::vector<std::string>& tasks,
                                          const char* method, const Message& request,
                                          const MessageDescriptor& response,
                                          std::chrono::nanoseconds timeout) {
  Mutex mutex;
  CondVar changed;
  size_t open = tasks.size();
  std::vector<std::optional<Result<OwnedMessage>>> answers(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    peers.Call(tasks[i], method, request, response, {.timeout = timeout, .wait_for_ready = true},
               [&, i](Result<OwnedMessage> answer) {
                 MutexLock lock(mutex);
                 answers[i].emplace(std::move(answer));
                 if (--open == 0) changed.NotifyAll();
               });
  }
  {
    MutexLock lock(mutex);
    while (open > 0) changed.Wait(mutex);
  }
  std::vector<OwnedMessage> found;
  std::string late;
  for (size_t i = 0; i < tasks.size(); ++i) {
    Result<OwnedMessage>& answer = *answers[i];
    if (answer.ok()) {
      found.push_back(*std::move(answer));
    } else if (answer.status().code() == Code::kDeadlineExceeded) {
      late += StrCat(late.empty() ? "" : ", ", tasks[i]);
    } else {
      return answer.status();
    }
  }
  if (late.empty()) return found;
  return Unavailable("these tasks did not answer ", method, " within ",
                     std::chrono::duration<double>(timeout).count(), " s: ", late,
                     "; are they running, at the addresses of the cluster's description?");
}

}  // namespace

Result<std::unique_ptr<Session>> MakeClusterSession(std::shared_ptr<Environment> environment,
                                                    Peers& peers, StepTable& steps,
                                                    std::shared_ptr<Graph> graph,
                                                    const ClusterSessionOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> tasks,
                   AdmittedTasks(peers, options.device_filters));
  const OwnedMessage ask(pb::GetStatusRequest::Descriptor());
  ASSIGN_OR_RETURN(const std::vector<OwnedMessage> states,
                   CallAll(peers, tasks, "GetStatus", *ask, pb::GetStatusResponse::Descriptor(),
                           options.join_timeout));
  ClusterRunner::Options runner;
  RemoteParts remote;
  for (const auto& device : environment->devices()) {
    runner.device_names.push_back(device->full_name());
    runner.device_incarnations.push_back(device->incarnation());
  }
  runner.num_local_devices = runner.device_names.size();
  for (const OwnedMessage& state : states) {
    for (const Message* attributes : state->Messages(pb::GetStatusResponse::kDeviceAttributes)) {
      if (attributes->GetString(pb::DeviceAttributes::kDeviceType) != kCpu) continue;
      ASSIGN_OR_RETURN(std::unique_ptr<Device> device, RemoteDevice::Make(*attributes));
      runner.device_names.push_back(device->full_name());
      runner.device_incarnations.push_back(device->incarnation());
      remote.devices.push_back(std::move(device));
    }
  }
  std::array<char, 17> handle;
  std::snprintf(handle.data(), handle.size(), "%016" PRIx64, RandomSeed());
  runner.session = handle.data();
  runner.tasks = tasks;
  runner.register_timeout = options.join_timeout;

  OwnedMessage begin(pb::CreateWorkerSessionRequest::Descriptor());
  begin->SetString(pb::CreateWorkerSessionRequest::kSessionHandle, runner.session);
  RETURN_IF_ERROR(CallAll(peers, tasks, "CreateWorkerSession", *begin,
                          pb::CreateWorkerSessionResponse::Descriptor(), options.join_timeout)
                      .status());
  remote.make_runner = [&](PartitionRunner& local) {
    return std::make_unique<ClusterRunner>(peers, steps, local, std::move(runner));
  };
  SessionOptions session = options.session;
  // A task rewrites its own part: what these passes make is of no use to another release.
  session.passes.fuse_elementwise = session.passes.fuse_epilogue = false;
  session.passes.pack_weights = session.passes.join_products = false;
  session.passes.channels_last = false;
  RETURN_IF_ERROR(session.Validate());
  return MakeSession(std::make_shared<SessionCore>(std::move(environment), std::move(graph),
                                                   session, std::move(remote)));
}

}  // namespace thalweg
