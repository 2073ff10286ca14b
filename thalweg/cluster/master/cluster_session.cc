// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/cluster_session.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/cluster/health/heartbeat_payload.h"
#include "thalweg/cluster/master/cluster_rates.h"
#include "thalweg/cluster/master/remote_device.h"
#include "thalweg/cluster/peers/device_kernels.h"
#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

Result<std::vector<std::string>> AdmittedTasks(const WorkerClients& peers,
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

// "TASK at ADDRESS (what a call that does not wait says), ...".
std::string WhyNotThere(WorkerClients& peers, const std::vector<std::string>& tasks,
                        std::chrono::nanoseconds patience) {
  const OwnedMessage ask(pb::GetStatusRequest::Descriptor());
  std::string text;
  for (const std::string& task : tasks) {
    const Result<OwnedMessage> answer = peers.Call(
        task, "GetStatus", *ask, pb::GetStatusResponse::Descriptor(), {.timeout = patience});
    text += StrCat(text.empty() ? "" : ", ", task, " at ", peers.AddressOf(task), " (",
                   answer.ok() ? "it answers now" : answer.status().message(), ")");
  }
  return text;
}

// One call to each of the tasks at once, of a request to each or one to all; answers in their
// order.
Result<std::vector<OwnedMessage>> CallAll(WorkerClients& peers,
                                          const std::vector<std::string>& tasks, const char* method,
                                          const std::vector<OwnedMessage>& requests,
                                          const MessageDescriptor& response,
                                          const ClusterSessionOptions& options) {
  const std::chrono::nanoseconds timeout = options.join_timeout;
  Mutex mutex;
  CondVar changed;
  size_t open = tasks.size();
  std::vector<std::optional<Result<OwnedMessage>>> answers(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    peers.Call(tasks[i], method, *requests[requests.size() == 1 ? 0 : i], response,
               {.timeout = timeout, .wait_for_ready = true, .cancellation = options.cancellation},
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
  std::vector<std::string> late;
  for (size_t i = 0; i < tasks.size(); ++i) {
    Result<OwnedMessage>& answer = *answers[i];
    if (answer.ok()) {
      found.push_back(*std::move(answer));
    } else if (answer.status().code() == Code::kDeadlineExceeded) {
      late.push_back(tasks[i]);
    } else {
      return answer.status();
    }
  }
  if (late.empty()) return found;
  const auto patience = std::min<std::chrono::nanoseconds>(timeout / 5, std::chrono::seconds(5)) /
                        static_cast<int64_t>(late.size());
  return Unavailable("these tasks did not answer ", method, " within ",
                     std::chrono::duration<double>(timeout).count(),
                     " s: ", WhyNotThere(peers, late, patience),
                     "; are they running, at the addresses of the cluster's description?");
}

std::vector<OwnedMessage> OneRequest(const MessageDescriptor& type) {
  std::vector<OwnedMessage> requests;
  requests.emplace_back(type);
  return requests;
}

// The devices of a task, by its GetStatus: its CPUs, and those whose kernels it names.
Status AddDevices(const std::string& task, const Message& state, bool renames, RemoteParts* to) {
  Result<DeviceKernels> told = FindDeviceKernels(state);
  if (!told.ok()) return told.status().WithContext(task);
  for (const Message* attributes : state.Messages(pb::GetStatusResponse::kDeviceAttributes)) {
    const std::string_view type = attributes->GetString(pb::DeviceAttributes::kDeviceType);
    const auto kernels = told->of_type.find(type);
    if (type != kCpu && kernels == told->of_type.end()) continue;
    const auto lost = told->lost.find(attributes->GetString(pb::DeviceAttributes::kName));
    ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                     RemoteDevice::Make(*attributes, renames ? task : "",
                                        lost == told->lost.end() ? "" : lost->second));
    if (TaskOf(device->full_name()) != task) {
      return InvalidArgument("expected ", task, " where the cluster has it, found ",
                             device->full_name(),
                             ": a server that was started as another task; a session's own "
                             "cluster_def must then call its master otherwise, too");
    }
    to->devices.push_back(std::move(device));
    to->kernels.push_back(type == kCpu ? nullptr : kernels->second);
  }
  return OkStatus();
}

// Takes where a client says that tasks are, once those that are there have said that it is they.
Status UpdatePeers(WorkerClients& peers, const ClusterSessionOptions& options) {
  ASSIGN_OR_RETURN(ClusterSpec said, ClusterSpec::FromMessage(*options.cluster));
  WorkerClients told(std::move(said), peers.self(), peers.tls());
  ASSIGN_OR_RETURN(const std::vector<std::string> tasks,
                   AdmittedTasks(told, options.device_filters));
  ASSIGN_OR_RETURN(const std::vector<OwnedMessage> states,
                   CallAll(told, tasks, "GetStatus", OneRequest(pb::GetStatusRequest::Descriptor()),
                           pb::GetStatusResponse::Descriptor(), options));
  RemoteParts found;
  for (size_t i = 0; i < tasks.size(); ++i) {
    RETURN_IF_ERROR(AddDevices(tasks[i], *states[i], /*renames=*/false, &found));
  }
  return peers.Update(*options.cluster, false);
}

// Where this task is, for those that do not know it yet; empty where its own entry does not say.
Result<ClusterSpec> OwnEntry(const WorkerClients& peers) {
  ClusterSpec own;
  ASSIGN_OR_RETURN(const DeviceName self, DeviceName::Parse(peers.self()));
  const std::string address = peers.AddressOf(peers.self());
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  const bool anywhere = where.host == "0.0.0.0" || where.host == "::";
  if (where.port != 0 && !anywhere) RETURN_IF_ERROR(own.Add(*self.job, *self.task, address));
  return own;
}

// Who leads collective operations: one of the session's tasks, or whom the configuration names.
Result<std::string> LeaderOf(const ClusterSessionOptions& options, std::vector<std::string> tasks,
                             const WorkerClients& peers) {
  tasks.push_back(peers.self());
  if (options.collective_leader.empty()) return CollectiveRendezvous::FirstOf(std::move(tasks));
  ASSIGN_OR_RETURN(std::string leader,
                   CollectiveRendezvous::ParseLeader(options.collective_leader));
  if (std::ranges::count(tasks, leader) + std::ranges::count(peers.Others(), leader) > 0) {
    return leader;
  }
  return InvalidArgument("collective_group_leader ", leader, " is none of the cluster's tasks");
}

// What a task is told of a session. TensorFlow's tasks get a cluster only where the session has its
// own: they take it for the whole.
Result<OwnedMessage> BeginOf(WorkerClients& peers, const std::string& task,
                             const std::string& session, const ClusterSessionOptions& options) {
  namespace Request = pb::CreateWorkerSessionRequest;
  OwnedMessage begin(Request::Descriptor());
  begin->SetString(Request::kSessionHandle, session);
  begin->SetBool(Request::kIsolateSessionState, !options.session.share_resources);
  if (peers.KnownVersion(task) == PeerVersion::kThalweg) {
    RETURN_IF_ERROR(
        AddHeartbeatRequest({.master = peers.self(), .sessions = {session}}, begin.get()));
  }
  ClusterSpec told;
  const bool is_own = options.own_cluster != nullptr;
  const bool is_ours = peers.KnownVersion(task) == PeerVersion::kThalweg;
  if (is_ours) {
    begin->Mutable(Request::kServerDef)
        ->Mutable(pb::ServerDef::kDefaultSessionConfig)
        ->Mutable(pb::ConfigProto::kExperimental)
        ->SetString(pb::ConfigProto::Experimental::kCollectiveGroupLeader,
                    options.collective_leader);
  }
  if (options.cluster != nullptr) {
    ASSIGN_OR_RETURN(told, ClusterSpec::FromMessage(*options.cluster));
  } else if (is_ours) {
    ASSIGN_OR_RETURN(told, OwnEntry(peers));
    begin->SetString(Request::kMasterTask, peers.self());
  }
  if (told.empty()) return begin;
  Message* const server = begin->Mutable(Request::kServerDef);
  told.ToMessage(server->Mutable(pb::ServerDef::kCluster));
  if (is_ours && !is_own) return begin;
  // Who is told what it is called there takes the cluster for the session's own.
  ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
  server->SetString(pb::ServerDef::kJobName, name.job.value_or(""));
  server->SetInt(pb::ServerDef::kTaskIndex, name.task.value_or(0));
  server->SetString(pb::ServerDef::kProtocol, "grpc");
  return begin;
}

}  // namespace

Result<std::unique_ptr<Session>> MakeClusterSession(std::shared_ptr<Environment> environment,
                                                    WorkerClients& peers, RpcStepTable& steps,
                                                    ChannelManager& channels, Health& health,
                                                    std::shared_ptr<Graph> graph,
                                                    ClusterSessionOptions options) {
  const bool is_own = options.own_cluster != nullptr;
  if (options.cluster != nullptr && !is_own) {
    RETURN_IF_ERROR(UpdatePeers(peers, options));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> tasks,
                   AdmittedTasks(peers, options.device_filters));
  const std::vector<OwnedMessage> ask = OneRequest(pb::GetStatusRequest::Descriptor());
  RETURN_IF_ERROR(AskForKernels(ask.front().get()));
  ASSIGN_OR_RETURN(
      const std::vector<OwnedMessage> states,
      CallAll(peers, tasks, "GetStatus", ask, pb::GetStatusResponse::Descriptor(), options));
  ClusterRunner::Options runner;
  runner.leader_is_shared = !options.collective_leader.empty() || options.device_filters.empty();
  runner.leader_is_named = !options.collective_leader.empty();
  ASSIGN_OR_RETURN(options.collective_leader, LeaderOf(options, tasks, peers));
  RemoteParts remote;
  for (const auto& device : environment->devices()) {
    runner.device_names.push_back(device->full_name());
    runner.device_incarnations.push_back(device->incarnation());
  }
  runner.num_local_devices = runner.device_names.size();
  for (size_t i = 0; i < states.size(); ++i) peers.NoteStatus(tasks[i], *states[i]);
  for (size_t i = 0; i < states.size(); ++i) {
    RETURN_IF_ERROR(AddDevices(tasks[i], *states[i], is_own, &remote));
  }
  for (const auto& device : remote.devices) {
    runner.device_names.push_back(device->full_name());
    runner.device_incarnations.push_back(device->incarnation());
  }
  std::array<char, 17> handle;
  std::snprintf(handle.data(), handle.size(), "%016" PRIx64, RandomSeed());
  runner.session = handle.data();
  runner.cluster = options.own_cluster;
  runner.health = options.own_health;
  runner.tasks = tasks;
  runner.collective_leader = options.collective_leader;
  runner.register_timeout = options.join_timeout;
  runner.background = [raw = environment.get()]() -> WorkQueue& { return raw->background(); };
  runner.timer = &environment->timer();

  std::vector<OwnedMessage> begins;
  for (const std::string& task : tasks) {
    ASSIGN_OR_RETURN(OwnedMessage begin, BeginOf(peers, task, runner.session, options));
    begins.push_back(std::move(begin));
  }
  RETURN_IF_ERROR(CallAll(peers, tasks, "CreateWorkerSession", begins,
                          pb::CreateWorkerSessionResponse::Descriptor(), options)
                      .status());
  remote.make_runner = [&](PartitionRunner& local) {
    return std::make_unique<ClusterRunner>(peers, steps, channels, health, local,
                                           std::move(runner));
  };
  remote.schedule_receives = options.schedule_receives;
  SessionOptions session = options.session;
  // A task rewrites its own part: what these passes make is of no use to another release.
  session.passes += ",-rewrites";
  RETURN_IF_ERROR(session.Validate());
  if (options.links != nullptr && !tasks.empty() && session.machine == nullptr &&
      PlacesByCost(session)) {
    remote.rates = MeasureCluster(peers, *options.links, tasks, *environment);
  }
  return MakeSession(std::make_shared<SessionCore>(std::move(environment), std::move(graph),
                                                   session, std::move(remote)));
}

Status ResetTasks(WorkerClients& peers, const std::vector<std::string>& containers,
                  std::chrono::nanoseconds timeout) {
  const std::vector<OwnedMessage> requests = OneRequest(pb::CleanupAllRequest::Descriptor());
  for (const std::string& name : containers) {
    requests.front()->AddString(pb::CleanupAllRequest::kContainer, name);
  }
  return CallAll(peers, peers.Others(), "CleanupAll", requests,
                 pb::CleanupAllResponse::Descriptor(), {.join_timeout = timeout})
      .status();
}

}  // namespace thalweg
