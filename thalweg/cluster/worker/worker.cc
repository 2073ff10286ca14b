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

constexpr int kMostPartialRuns = 1000;

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

// A master's own nodes have names that begin with '_', which no node of a user may have.
std::string PublicName(std::string_view name) {
  const size_t at = name.starts_with('^') ? 1 : 0;
  if (name.size() <= at || name[at] != '_') return std::string(name);
  return StrCat(name.substr(0, at), "master/", name.substr(at));
}
OwnedMessage AsUsersGraph(const Message& graph_def) {
  OwnedMessage changed = Clone(graph_def);
  for (Message* node : changed->MutableMessages(pb::GraphDef::kNode)) {
    node->SetString(pb::NodeDef::kName, PublicName(node->GetString(pb::NodeDef::kName)));
    for (std::string_view& input : node->MutableRepeated<std::string_view>(pb::NodeDef::kInput)) {
      if (input.starts_with('_') || input.starts_with("^_")) {
        input = changed->arena().Copy(PublicName(input));
      }
    }
    // Notes of a master's passes, such as "_input_shapes" with marks of its own.
    std::vector<std::string> notes;
    for (const Message* attr : node->Messages(pb::NodeDef::kAttr)) {
      const std::string_view name = attr->GetString(pb::kMapKey);
      if (name.starts_with('_')) notes.emplace_back(name);
    }
    for (const std::string& note : notes) node->EraseEntry(pb::NodeDef::kAttr, note);
  }
  return changed;
}

std::string GraphKey(std::string_view session, std::string_view handle) {
  return StrCat(session, "/", handle);
}

}  // namespace

Worker::Worker(std::shared_ptr<Environment> environment, Peers& peers)
    : environment_(std::move(environment)),
      peers_(peers),
      steps_(peers, environment_->allocator()),
      threads_(kMostPartialRuns) {}

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

// A worker that has restarted does not know the sessions of its former life.
Result<OwnedMessage> Worker::CreateWorkerSession(const Message& request, const WorkerCall&) {
  MutexLock lock(mutex_);
  sessions_.emplace(request.GetString(pb::CreateWorkerSessionRequest::kSessionHandle));
  return OwnedMessage(pb::CreateWorkerSessionResponse::Descriptor());
}

Result<OwnedMessage> Worker::DeleteWorkerSession(const Message& request, const WorkerCall&) {
  const std::string_view session =
      request.GetString(pb::DeleteWorkerSessionRequest::kSessionHandle);
  const std::string prefix = GraphKey(session, "");
  std::vector<std::shared_ptr<SessionCore>> cores;
  {
    MutexLock lock(mutex_);
    sessions_.erase(std::string(session));
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
  if (request.GetBool(Request::kCreateWorkerSessionCalled)) {
    const std::string session(request.GetString(Request::kSessionHandle));
    MutexLock lock(mutex_);
    if (!sessions_.contains(session)) {
      return Aborted("Session handle is not found: ", session, ". Possibly, this worker (",
                     peers_.self(), ") just restarted.");
    }
  }
  auto graph = std::make_shared<Graph>(environment_->shared_ops());
  ImportOptions importing;
  importing.validate_versions = false;
  const OwnedMessage def = AsUsersGraph(request.GetMessage(Request::kGraphDef));
  RETURN_IF_ERROR(ImportGraphDef(*def, *graph, importing).status());
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

Status Worker::RunPart(const RegisteredGraph& graph, TaskStep& step, const WorkerCall& call) {
  StepRequest run;
  run.step_id = step.id();
  run.timeout = call.timeout;
  run.rendezvous = &step;
  run.feeds_and_fetches = &step;
  // Two reasons to end early: the call, and the step as a whole.
  CancellationManager ends(&step.cancellation());
  CancellationManager::Token token = 0;
  bool registered = false;
  if (call.cancellation != nullptr) {
    registered =
        call.cancellation->Register([&] { ends.Cancel(call.cancellation->Reason()); }, &token);
    if (!registered) ends.Cancel(call.cancellation->Reason());
  }
  run.cancellation = &ends;
  Status status = graph.plan->prepared->Run(run);
  if (registered) call.cancellation->Deregister(token);
  if (!status.ok()) step.Abort(status);  // who waits for a tensor of this part gets the reason
  return status;
}

// The first call of a partial run starts the part, the last one waits for it.
Status Worker::ContinuePart(const std::string& key, const RegisteredGraph& graph,
                            const std::shared_ptr<TaskStep>& step, bool last) {
  bool is_new = false;
  const std::shared_ptr<TaskStep::Part> part = step->FindPart(key, &is_new);
  if (is_new) {
    Status status = threads_.Run([graph, step, part] {
      part->status = RunPart(graph, *step, {});
      part->ended.Notify();
    });
    if (!status.ok()) {
      part->status = status;
      part->ended.Notify();
    }
  }
  if (!last) return OkStatus();
  part->ended.Wait();
  return part->status;
}

Status Worker::RunGraphInto(const Message& request, const WorkerCall& call, Message* response) {
  namespace Request = pb::RunGraphRequest;
  const std::string graph_key = GraphKey(request.GetString(Request::kSessionHandle),
                                         request.GetString(Request::kGraphHandle));
  ASSIGN_OR_RETURN(const RegisteredGraph graph, FindGraph(graph_key));
  ASSIGN_OR_RETURN(const std::shared_ptr<TaskStep> step,
                   steps_.Find(request.GetInt(Request::kStepId)));
  for (const Message* fed : request.Messages(Request::kSend)) {
    ASSIGN_OR_RETURN(const RendezvousKey key,
                     ParseRendezvousKey(fed->GetString(pb::NamedTensorProto::kName)));
    ASSIGN_OR_RETURN(Tensor value, TensorFromProto(fed->GetMessage(pb::NamedTensorProto::kTensor),
                                                   {.allocator = environment_->allocator().get()}));
    RETURN_IF_ERROR(step->Send(key, {std::move(value), false}));
  }
  if (request.GetBool(Request::kIsPartial)) {
    RETURN_IF_ERROR(
        ContinuePart(graph_key, graph, step, request.GetBool(Request::kIsLastPartialRun)));
  } else {
    RETURN_IF_ERROR(RunPart(graph, *step, call));
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
