// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/worker/worker.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <unordered_set>
#include <utility>

#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

// What nobody reads: running it runs the whole graph.
std::vector<Node*> Sinks(const Graph& graph) {
  std::unordered_set<const Node*> read;
  const std::vector<Node*> nodes = graph.Nodes();
  for (const Node* node : nodes) {
    for (int i = 0; i < node->num_inputs(); ++i) read.insert(node->input(i).node);
    for (const Node* before : node->control_inputs()) read.insert(before);
  }
  std::vector<Node*> sinks;
  for (Node* node : nodes) {
    if (!read.contains(node)) sinks.push_back(node);
  }
  return sinks;
}

std::string GraphKey(std::string_view session, std::string_view handle) {
  return StrCat(session, "/", handle);
}

}  // namespace

Worker::Worker(std::shared_ptr<Environment> environment, Peers& peers)
    : environment_(std::move(environment)),
      peers_(peers),
      steps_(peers, environment_->allocator()) {}

struct Worker::Entry {
  std::string_view name;
  const MessageDescriptor& (*request)();
  Method method;  // null: RecvTensor, which does not block
};

const Worker::Entry* Worker::FindMethod(std::string_view method) {
  static constexpr std::array<Entry, 10> kMethods = {{
      {"CleanupAll", &pb::CleanupAllRequest::Descriptor, &Worker::CleanupAll},
      {"CleanupGraph", &pb::CleanupGraphRequest::Descriptor, &Worker::CleanupGraph},
      {"CreateWorkerSession", &pb::CreateWorkerSessionRequest::Descriptor,
       &Worker::CreateWorkerSession},
      {"DeleteWorkerSession", &pb::DeleteWorkerSessionRequest::Descriptor,
       &Worker::DeleteWorkerSession},
      {"DeregisterGraph", &pb::DeregisterGraphRequest::Descriptor, &Worker::DeregisterGraph},
      {"GetStatus", &pb::GetStatusRequest::Descriptor, &Worker::GetStatus},
      {"Logging", &pb::LoggingRequest::Descriptor, &Worker::Logging},
      {"RecvTensor", &pb::RecvTensorRequest::Descriptor, nullptr},
      {"RegisterGraph", &pb::RegisterGraphRequest::Descriptor, &Worker::RegisterGraph},
      {"RunGraph", &pb::RunGraphRequest::Descriptor, &Worker::RunGraph},
  }};
  for (const Entry& entry : kMethods) {
    if (entry.name == method) return &entry;
  }
  return nullptr;
}

const MessageDescriptor* Worker::RequestType(std::string_view method) {
  const Entry* const entry = FindMethod(method);
  return entry == nullptr ? nullptr : &entry->request();
}

void Worker::Call(std::string_view method, const Message& request, const WorkerCall& call,
                  Done done) {
  const Entry* const entry = FindMethod(method);
  if (entry == nullptr) return done(Unimplemented("the worker has no method ", method));
  if (entry->method == nullptr) return RecvTensor(request, std::move(done));
  done((this->*entry->method)(request, call));
}

void Worker::Stop(const Status& reason) {
  steps_.EraseAll(reason);
  std::map<std::string, RegisteredGraph, std::less<>> graphs;
  {
    MutexLock lock(mutex_);
    graphs.swap(graphs_);
  }
  for (const auto& [key, graph] : graphs) graph.core->Close();
}

void Worker::DescribeDevice(Device& device, Message* attributes) {
  namespace Attributes = pb::DeviceAttributes;
  attributes->SetString(Attributes::kName, device.full_name());
  attributes->SetString(Attributes::kDeviceType, device.type());
  attributes->SetInt(Attributes::kMemoryLimit, device.allocator().Stats().limit);
  attributes->Mutable(Attributes::kLocality);
  attributes->SetUint(Attributes::kIncarnation, device.incarnation());
}

Result<OwnedMessage> Worker::GetStatus(const Message&, const WorkerCall&) {
  OwnedMessage response(pb::GetStatusResponse::Descriptor());
  for (const auto& device : environment_->devices()) {
    DescribeDevice(*device, response->Add(pb::GetStatusResponse::kDeviceAttributes));
  }
  return response;
}

// Nothing to make: graphs bring their session's name along.
Result<OwnedMessage> Worker::CreateWorkerSession(const Message&, const WorkerCall&) {
  return OwnedMessage(pb::CreateWorkerSessionResponse::Descriptor());
}

Result<OwnedMessage> Worker::DeleteWorkerSession(const Message& request, const WorkerCall&) {
  const std::string prefix =
      GraphKey(request.GetString(pb::DeleteWorkerSessionRequest::kSessionHandle), "");
  std::vector<std::shared_ptr<SessionCore>> cores;
  {
    MutexLock lock(mutex_);
    auto at = graphs_.lower_bound(prefix);
    while (at != graphs_.end() && at->first.starts_with(prefix)) {
      cores.push_back(std::move(at->second.core));
      at = graphs_.erase(at);
    }
  }
  for (const auto& core : cores) core->Close();
  return OwnedMessage(pb::DeleteWorkerSessionResponse::Descriptor());
}

Result<OwnedMessage> Worker::RegisterGraph(const Message& request, const WorkerCall&) {
  namespace Request = pb::RegisterGraphRequest;
  auto graph = std::make_shared<Graph>(environment_->shared_ops());
  ImportOptions importing;
  importing.validate_versions = false;
  RETURN_IF_ERROR(
      ImportGraphDef(request.GetMessage(Request::kGraphDef), *graph, importing).status());
  Signature signature;
  signature.targets = Sinks(*graph);
  SessionOptions options;
  options.soft_placement = false;
  options.share_resources = true;
  RegisteredGraph made;
  made.core = std::make_shared<SessionCore>(environment_, graph, options);
  ASSIGN_OR_RETURN(made.plan, made.core->GetPlan(signature));
  std::array<char, 17> handle;
  {
    MutexLock lock(mutex_);
    std::snprintf(handle.data(), handle.size(), "%016" PRIx64, next_graph_++);
    graphs_.emplace(GraphKey(request.GetString(Request::kSessionHandle), handle.data()),
                    std::move(made));
  }
  OwnedMessage response(pb::RegisterGraphResponse::Descriptor());
  response->SetString(pb::RegisterGraphResponse::kGraphHandle, handle.data());
  return response;
}

Result<Worker::RegisteredGraph> Worker::FindGraph(std::string_view key) {
  MutexLock lock(mutex_);
  const auto found = graphs_.find(key);
  if (found != graphs_.end()) return found->second;
  return Aborted("Graph handle is not found: ", key.substr(key.rfind('/') + 1),
                 ". Possibly, this worker (", peers_.self(), ") just restarted.");
}

Result<OwnedMessage> Worker::DeregisterGraph(const Message& request, const WorkerCall&) {
  namespace Request = pb::DeregisterGraphRequest;
  const std::string key = GraphKey(request.GetString(Request::kSessionHandle),
                                   request.GetString(Request::kGraphHandle));
  ASSIGN_OR_RETURN(const RegisteredGraph graph, FindGraph(key));
  {
    MutexLock lock(mutex_);
    graphs_.erase(key);
  }
  graph.core->Close();
  return OwnedMessage(pb::DeregisterGraphResponse::Descriptor());
}

Result<OwnedMessage> Worker::RunGraph(const Message& request, const WorkerCall& call) {
  namespace Response = pb::RunGraphResponse;
  OwnedMessage response(Response::Descriptor());
  const Status status = RunGraphInto(request, call, response.get());
  if (status.ok()) return response;
  if (!request.GetBool(pb::RunGraphRequest::kStoreErrorsInResponseBody)) return status;
  OwnedMessage failed(Response::Descriptor());
  failed->SetInt(Response::kStatusCode, static_cast<int>(status.code()));
  failed->SetString(Response::kStatusErrorMessage, status.message());
  return failed;
}

Status Worker::RunGraphInto(const Message& request, const WorkerCall& call, Message* response) {
  namespace Request = pb::RunGraphRequest;
  ASSIGN_OR_RETURN(const RegisteredGraph graph,
                   FindGraph(GraphKey(request.GetString(Request::kSessionHandle),
                                      request.GetString(Request::kGraphHandle))));
  ASSIGN_OR_RETURN(const std::shared_ptr<TaskStep> step,
                   steps_.Find(request.GetInt(Request::kStepId)));
  for (const Message* fed : request.Messages(Request::kSend)) {
    ASSIGN_OR_RETURN(const RendezvousKey key,
                     ParseRendezvousKey(fed->GetString(pb::NamedTensorProto::kName)));
    ASSIGN_OR_RETURN(Tensor value, TensorFromProto(fed->GetMessage(pb::NamedTensorProto::kTensor),
                                                   {.allocator = environment_->allocator().get()}));
    RETURN_IF_ERROR(step->Send(key, {std::move(value), false}));
  }
  StepRequest run;
  run.step_id = step->id();
  run.timeout = call.timeout;
  run.rendezvous = step.get();
  run.feeds_and_fetches = step.get();
  // Two reasons to end early: the call, and the step as a whole.
  CancellationManager ends(&step->cancellation());
  CancellationManager::Token token = 0;
  bool registered = false;
  if (call.cancellation != nullptr) {
    registered =
        call.cancellation->Register([&] { ends.Cancel(call.cancellation->Reason()); }, &token);
    if (!registered) ends.Cancel(call.cancellation->Reason());
  }
  run.cancellation = &ends;
  const Status status = graph.plan->prepared->Run(run);
  if (registered) call.cancellation->Deregister(token);
  if (!status.ok()) {
    step->Abort(status);  // who waits for a tensor of this part gets the reason
    return status;
  }
  for (const std::string_view name : request.Repeated<std::string_view>(Request::kRecvKey)) {
    ASSIGN_OR_RETURN(const RendezvousKey key, ParseRendezvousKey(name));
    // Shared: the callback of a key that the graph does not send comes when the step is dropped.
    const auto found =
        std::make_shared<Result<Delivery>>(InvalidArgument("the graph has not sent '", name, "'"));
    step->RecvForPeer(key, [found](Result<Delivery> got) { *found = std::move(got); });
    RETURN_IF_ERROR(found->status());
    const Delivery& delivery = **found;
    if (delivery.dead)
      return InvalidArgument("the fetch '", key.edge, "' is on a branch not taken");
    Message* const out = response->Add(pb::RunGraphResponse::kRecv);
    out->SetString(pb::NamedTensorProto::kName, name);
    RETURN_IF_ERROR(TensorToProto(delivery.tensor, out->Mutable(pb::NamedTensorProto::kTensor)));
  }
  return OkStatus();
}

Result<OwnedMessage> Worker::CleanupGraph(const Message& request, const WorkerCall&) {
  const int64_t id = request.GetInt(pb::CleanupGraphRequest::kStepId);
  steps_.Erase(id, Cancelled("step ", id, " has ended"));
  return OwnedMessage(pb::CleanupGraphResponse::Descriptor());
}

Result<OwnedMessage> Worker::CleanupAll(const Message& request, const WorkerCall&) {
  std::vector<std::string> containers;
  for (const std::string_view name :
       request.Repeated<std::string_view>(pb::CleanupAllRequest::kContainer)) {
    containers.emplace_back(name);
  }
  environment_->ResetContainers(containers);
  return OwnedMessage(pb::CleanupAllResponse::Descriptor());
}

// Nothing is recorded: a trace of a step has no transfers yet.
Result<OwnedMessage> Worker::Logging(const Message&, const WorkerCall&) {
  return OwnedMessage(pb::LoggingResponse::Descriptor());
}

void Worker::RecvTensor(const Message& request, Done done) {
  namespace Request = pb::RecvTensorRequest;
  const Result<RendezvousKey> key = ParseRendezvousKey(request.GetString(Request::kRendezvousKey));
  if (!key.ok()) return done(key.status());
  const Device* const device = environment_->FindDevice(key->source);
  if (device == nullptr) {
    return done(InvalidArgument(peers_.self(), " has no device ", key->source));
  }
  if (device->incarnation() != key->incarnation) {
    return done(Aborted(peers_.self(), " has restarted since the graph was made: its device ",
                        key->source, " has another incarnation"));
  }
  const Result<std::shared_ptr<TaskStep>> step = steps_.Find(request.GetInt(Request::kStepId));
  if (!step.ok()) return done(step.status());
  (*step)->RecvForPeer(
      *key, [done = std::move(done), clock = &environment_->clock()](Result<Delivery> delivery) {
        namespace Response = pb::RecvTensorResponse;
        if (!delivery.ok()) return done(delivery.status());
        OwnedMessage response(Response::Descriptor());
        response->SetInt(Response::kSendStartMicros, clock->WallMicros());
        Message* const tensor = response->Mutable(Response::kTensor);
        if (delivery->dead) {
          response->SetBool(Response::kIsDead, true);
          tensor->SetInt(pb::TensorProto::kDtype, pb::DataType::DT_FLOAT);
          tensor->Mutable(pb::TensorProto::kTensorShape)->Add(pb::TensorShapeProto::kDim);
          return done(std::move(response));
        }
        const Status status = TensorToProto(delivery->tensor, tensor);
        if (!status.ok()) return done(status);
        done(std::move(response));
      });
}

}  // namespace thalweg
