// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/master.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <unordered_set>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

// Numbers of requests that a session remembers: a client that repeats one does so soon.
constexpr size_t kRememberedRequests = 4096;

std::string NewHandle() {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016" PRIx64, RandomSeed());
  return text.data();
}

// Inputs of the new nodes that the graph has already: "a", "a:1" and "^a".
std::vector<std::pair<std::string, Output>> InputsFrom(const Message& graph_def,
                                                       const Graph& graph) {
  std::unordered_set<std::string_view> own;
  const auto nodes = graph_def.Messages(pb::GraphDef::kNode);
  for (const Message* node : nodes) own.insert(node->GetString(pb::NodeDef::kName));
  std::unordered_set<std::string_view> seen;
  std::vector<std::pair<std::string, Output>> found;
  for (const Message* node : nodes) {
    for (const std::string_view input : node->Repeated<std::string_view>(pb::NodeDef::kInput)) {
      const bool control = input.starts_with('^');
      const std::string_view name =
          input.substr(control ? 1 : 0, input.rfind(':') - (control ? 1 : 0));
      if (own.contains(name) || !seen.insert(input).second) continue;
      if (control) {
        if (Node* before = graph.FindNode(name)) found.push_back({std::string(input), {before, 0}});
        continue;
      }
      const Result<Output> output = graph.FindOutput(input);
      if (output.ok()) found.push_back({std::string(input), *output});
    }
  }
  return found;
}

// What constants hold counts as the server's memory.
Status AddNodes(const Message& graph_def, Graph& graph, Allocator& memory) {
  ImportOptions options;
  options.allocator = &memory;
  options.input_map = InputsFrom(graph_def, graph);
  return ImportGraphDef(graph_def, graph, options).status();
}

}  // namespace

Result<int64_t> MasterSession::Extend(const Message& graph_def, int64_t version,
                                      Allocator& memory) {
  MutexLock lock(mutex_);
  if (version != version_) {
    return Aborted("the graph of session ", handle_, " has version ", version_, ", not ", version,
                   ": somebody else has extended it");
  }
  RETURN_IF_ERROR(limits_.CheckNodes(graph_def, graph_->num_nodes()));
  RETURN_IF_ERROR(AddNodes(graph_def, *graph_, memory));
  return ++version_;
}

int64_t MasterSession::AddCallable(Prepared prepared) {
  MutexLock lock(mutex_);
  callables_.emplace(next_callable_, std::move(prepared));
  return next_callable_++;
}

Result<MasterSession::Prepared> MasterSession::FindCallable(int64_t handle) {
  MutexLock lock(mutex_);
  const auto found = callables_.find(handle);
  if (found == callables_.end()) {
    return InvalidArgument("session ", handle_, " has no callable with handle ", handle);
  }
  return found->second;
}

Status MasterSession::ReleaseCallable(int64_t handle) {
  MutexLock lock(mutex_);
  if (callables_.erase(handle) == 0) {
    return InvalidArgument("session ", handle_, " has no callable with handle ", handle);
  }
  return OkStatus();
}

bool MasterSession::IsNew(int64_t request_id) {
  if (request_id == 0) return true;
  MutexLock lock(mutex_);
  if (!requests_.insert(request_id).second) return false;
  if (request_order_.size() < kRememberedRequests) {
    request_order_.push_back(request_id);
  } else {
    requests_.erase(std::exchange(request_order_[next_request_], request_id));
    next_request_ = (next_request_ + 1) % kRememberedRequests;
  }
  return true;
}

const ServiceMethod<Master::Method>* Master::Find(std::string_view method) {
  static constexpr std::array<ServiceMethod<Method>, 10> kMethods = {{
      {"CloseSession", &pb::CloseSessionRequest::Descriptor, &Master::CloseSession},
      {"CreateSession", &pb::CreateSessionRequest::Descriptor, &Master::CreateSession},
      {"ExtendSession", &pb::ExtendSessionRequest::Descriptor, &Master::ExtendSession},
      {"ListDevices", &pb::ListDevicesRequest::Descriptor, &Master::ListDevices},
      {"MakeCallable", &pb::MakeCallableRequest::Descriptor, &Master::MakeCallable},
      {"PartialRunSetup", &pb::PartialRunSetupRequest::Descriptor, &Master::PartialRunSetup},
      {"ReleaseCallable", &pb::ReleaseCallableRequest::Descriptor, &Master::ReleaseCallable},
      {"Reset", &pb::ResetRequest::Descriptor, &Master::Reset},
      {"RunCallable", &pb::RunCallableRequest::Descriptor, &Master::RunCallable},
      {"RunStep", &pb::RunStepRequest::Descriptor, &Master::RunStep},
  }};
  return FindMethod(kMethods, method);
}

const MessageDescriptor* Master::RequestType(std::string_view method) {
  return RequestTypeOf(Find(method));
}

Result<OwnedMessage> Master::Call(std::string_view method, const Message& request,
                                  const MasterCall& call) {
  const ServiceMethod<Method>* const found = Find(method);
  if (found == nullptr) return Unimplemented("the master has no method ", method);
  return (this->*found->handler)(request, call);
}

Result<Master::SessionPtr> Master::FindSession(const Message& request, int field) {
  return FindSession(request.GetString(field));
}

Result<Master::SessionPtr> Master::FindSession(std::string_view handle) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found != sessions_.end()) return found->second;
  return Aborted("Session ", handle,
                 " is not found. Possibly, this master has restarted, or the session was closed.");
}

Result<OwnedMessage> Master::CreateSession(const Message& request, const MasterCall& call) {
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(limits_.CheckSessions(sessions_.size()));
  }
  auto graph = std::make_shared<Graph>(environment_->shared_ops());
  const Message& graph_def = request.GetMessage(pb::CreateSessionRequest::kGraphDef);
  RETURN_IF_ERROR(limits_.CheckNodes(graph_def, 0));
  RETURN_IF_ERROR(AddNodes(graph_def, *graph, *environment_->allocator()));
  ASSIGN_OR_RETURN(MadeSession made, make_session_(graph, request, call));
  const std::string handle = NewHandle();
  {
    MutexLock lock(mutex_);
    sessions_.emplace(
        handle, std::make_shared<MasterSession>(handle, std::move(graph), std::move(made.session),
                                                made.timeout, limits_));
  }
  OwnedMessage response(pb::CreateSessionResponse::Descriptor());
  response->SetString(pb::CreateSessionResponse::kSessionHandle, handle);
  return response;
}

Result<OwnedMessage> Master::ExtendSession(const Message& request, const MasterCall&) {
  namespace Request = pb::ExtendSessionRequest;
  ASSIGN_OR_RETURN(const SessionPtr session, FindSession(request, Request::kSessionHandle));
  ASSIGN_OR_RETURN(
      const int64_t version,
      session->Extend(request.GetMessage(Request::kGraphDef),
                      request.GetInt(Request::kCurrentGraphVersion), *environment_->allocator()));
  OwnedMessage response(pb::ExtendSessionResponse::Descriptor());
  response->SetInt(pb::ExtendSessionResponse::kNewGraphVersion, version);
  return response;
}

Result<OwnedMessage> Master::CloseSession(const Message& request, const MasterCall&) {
  SessionPtr session;
  {
    const std::string_view handle = request.GetString(pb::CloseSessionRequest::kSessionHandle);
    MutexLock lock(mutex_);
    const auto found = sessions_.find(handle);
    if (found == sessions_.end()) {
      return Aborted("Session ", handle,
                     " is not found. Possibly, this master has restarted, or it was closed.");
    }
    session = std::move(found->second);
    sessions_.erase(found);
  }
  session->session().Close();
  return OwnedMessage(pb::CloseSessionResponse::Descriptor());
}

Result<MasterSession::Prepared> Master::FindCallable(const std::string& session, int64_t callable) {
  SessionPtr found;
  {
    MutexLock lock(mutex_);
    const auto at = sessions_.find(session);
    if (at == sessions_.end()) return Aborted("Session ", session, " is not found.");
    found = at->second;
  }
  return found->FindCallable(callable);
}

Result<std::string> Master::ExplainPlacement(const std::string& session, std::string_view node) {
  ASSIGN_OR_RETURN(const SessionPtr found, FindSession(session));
  return found->session().ExplainPlacement(node);
}

void Master::CloseAll() {
  std::map<std::string, SessionPtr, std::less<>> sessions;
  {
    MutexLock lock(mutex_);
    sessions.swap(sessions_);
  }
  for (const auto& [handle, session] : sessions) session->session().Close();
}

Result<OwnedMessage> Master::Reset(const Message& request, const MasterCall&) {
  std::vector<std::string> containers;
  for (const std::string_view name :
       request.Repeated<std::string_view>(pb::ResetRequest::kContainer)) {
    containers.emplace_back(name);
  }
  CloseAll();
  environment_->ResetContainers(containers);
  RETURN_IF_ERROR(reset_tasks_(containers));
  return OwnedMessage(pb::ResetResponse::Descriptor());
}

Result<OwnedMessage> Master::ListDevices(const Message& request, const MasterCall&) {
  namespace Device = pb::DeviceAttributes;
  std::vector<DeviceDescription> devices;
  const std::string_view handle = request.GetString(pb::ListDevicesRequest::kSessionHandle);
  if (handle.empty()) {
    for (const auto& device : environment_->devices()) {
      devices.push_back(DescribeDevice(*device));
    }
  } else {
    const Result<SessionPtr> session = FindSession(request, pb::ListDevicesRequest::kSessionHandle);
    if (!session.ok()) return InvalidArgument(session.status().message());
    ASSIGN_OR_RETURN(devices, (*session)->session().ListDevices());
  }
  OwnedMessage response(pb::ListDevicesResponse::Descriptor());
  for (const DeviceDescription& device : devices) {
    Message* const out = response->Add(pb::ListDevicesResponse::kLocalDevice);
    out->SetString(Device::kName, device.name);
    out->SetString(Device::kDeviceType, device.type);
    out->SetInt(Device::kMemoryLimit, device.memory_limit);
    out->Mutable(Device::kLocality);
    out->SetUint(Device::kIncarnation, device.incarnation);
    out->SetString(Device::kPhysicalDeviceDesc, device.hardware);
  }
  return response;
}

}  // namespace thalweg
