// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/worker/worker.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <unordered_set>
#include <utility>

#include "thalweg/base/first_error.h"
#include "thalweg/cluster/peers/device_kernels.h"
#include "thalweg/cluster/peers/loop_peers.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/session/config_options.h"
#include "thalweg/session/run_metadata_message.h"
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

// The session that a request belongs to: the default one where its master has made none.
std::string_view SessionOf(const Message& request, int handle, int made) {
  return request.GetBool(made) ? request.GetString(handle) : std::string_view();
}
std::string GraphKey(std::string_view session, std::string_view handle) {
  return StrCat(session, "/", handle);
}

}  // namespace

Worker::Worker(std::shared_ptr<Environment> environment, WorkerClients& peers,
               ChannelManager& channels, const ServiceLimits& limits, const HealthOptions& health)
    : environment_(std::move(environment)),
      peers_(peers),
      channels_(channels),
      limits_(limits),
      links_(channels_, peers_, environment_->clock()),
      steps_(peers, environment_->allocator(), environment_->clock()),
      parts_(environment_->clock()),
      reports_(*environment_, steps_, channels_.steps()),
      collectives_(*environment_, peers),
      health_(peers, environment_->clock(), health,
              {.report = [this](const std::vector<std::string>* sessions,
                                uint64_t* all) { return reports_.List(sessions, all); },
               .master_lost =
                   [this](const std::string& session, const Status& why, bool forget) {
                     steps_.EraseSession(session, why);
                     channels_.steps().EndSteps(NumberOfHandle(session), why);
                     if (forget) EndSession(session);
                   },
               .busy = [this] { return !steps_.idle(); },
               .tick = [this] { steps_.Expire(health_.options().early_for); }}) {
  steps_.set_collectives(&collectives_);
  channels_.steps().set_collectives(&collectives_);
  collectives_.shared_steps().WatchProgress(health.stuck_after, [this] {
    uint64_t all = 0;
    reports_.List(nullptr, &all);
    return all;
  });
  collectives_.groups().set_ask_self([this](std::string_view method, const Message& request,
                                            CancellationManager* cancellation, Done done) {
    Call(method, request, {.cancellation = cancellation}, std::move(done));
  });
}

Worker::~Worker() {
  Stop(Cancelled("the worker is gone"));
  MutexLock lock(mutex_);
  while (open_parts_ > 0) parts_ended_.Wait(mutex_);
}

const ServiceMethod<Worker::Method>* Worker::Find(std::string_view method) {
  static constexpr std::array<ServiceMethod<Method>, 15> kMethods = {{
      {"CleanupAll", &pb::CleanupAllRequest::Descriptor, {&Worker::CleanupAll}},
      {"CleanupGraph", &pb::CleanupGraphRequest::Descriptor, {&Worker::CleanupGraph}},
      {"CompleteGroup", &pb::CompleteGroupRequest::Descriptor, {nullptr, &Worker::CompleteGroup}},
      {"CompleteInstance",
       &pb::CompleteInstanceRequest::Descriptor,
       {nullptr, &Worker::CompleteInstance}},
      {"CreateWorkerSession",
       &pb::CreateWorkerSessionRequest::Descriptor,
       {&Worker::CreateWorkerSession}},
      {"DeleteWorkerSession",
       &pb::DeleteWorkerSessionRequest::Descriptor,
       {&Worker::DeleteWorkerSession}},
      {"DeregisterGraph", &pb::DeregisterGraphRequest::Descriptor, {&Worker::DeregisterGraph}},
      {"GetStatus", &pb::GetStatusRequest::Descriptor, {&Worker::GetStatus}},
      {"GetStepSequence", &pb::GetStepSequenceRequest::Descriptor, {&Worker::GetStepSequence}},
      {"Logging", &pb::LoggingRequest::Descriptor, {&Worker::Logging}},
      {"MarkRecvFinished", &pb::MarkRecvFinishedRequest::Descriptor, {&Worker::MarkRecvFinished}},
      {"RecvBuf", &pb::RecvBufRequest::Descriptor, {nullptr, &Worker::RecvBuf}},
      {"RecvTensor", &pb::RecvTensorRequest::Descriptor, {nullptr, &Worker::RecvTensor}},
      {"RegisterGraph", &pb::RegisterGraphRequest::Descriptor, {&Worker::RegisterGraph}},
      {"RunGraph", &pb::RunGraphRequest::Descriptor, {&Worker::RunGraph}},
  }};
  return FindMethod(kMethods, method);
}

const MessageDescriptor* Worker::RequestType(std::string_view method) {
  return RequestTypeOf(Find(method));
}

void Worker::Call(std::string_view method, const Message& request, const WorkerCall& call,
                  Done done) {
  const ServiceMethod<Method>* const found = Find(method);
  if (found == nullptr) return done(Unimplemented("the worker has no method ", method));
  const Method& handler = found->handler;
  if (handler.waits != nullptr) return (this->*handler.waits)(request, call, std::move(done));
  done((this->*handler.answers)(request, call));
}

std::shared_ptr<Health> Worker::MakeMasterHealth(std::shared_ptr<SessionCluster> cluster) {
  WorkerClients& peers = cluster->peers;
  auto* const made =
      new Health(peers, environment_->clock(), health_.options(),
                 {.report = [this](const std::vector<std::string>* sessions,
                                   uint64_t* all) { return reports_.List(sessions, all); },
                  .master_lost = [](const std::string&, const Status&, bool) {},
                  .busy = [] { return false; },
                  .tick = [] {}});
  return {made, [cluster = std::move(cluster)](const Health* ended) { delete ended; }};
}

void Worker::Stop(const Status& reason) {
  steps_.EraseAll(reason);
  channels_.steps().Stop(reason);
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
  attributes->SetString(Attributes::kPhysicalDeviceDesc, kOwnDescription);
}

Result<OwnedMessage> Worker::GetStatus(const Message& request, const WorkerCall&) {
  OwnedMessage response(pb::GetStatusResponse::Descriptor());
  for (const auto& device : environment_->devices()) {
    DescribeDevice(*device, response->Add(pb::GetStatusResponse::kDeviceAttributes));
  }
  RETURN_IF_ERROR(health_.AnswerGetStatus(request, response.get()));
  if (AsksForKernels(request)) {
    RETURN_IF_ERROR(
        AddDeviceKernels(environment_->devices(), environment_->kernels(), response.get()));
  }
  if (const auto tasks = RatesAsked(request); tasks.has_value()) {
    RETURN_IF_ERROR(AddRates(RatesTo(*tasks), response.get()));
  }
  return response;
}

// Null where a master says nothing of a cluster, or only where tasks are: to whom it says what it
// is called there, that is a session's own.
Result<std::shared_ptr<SessionCluster>> Worker::OwnClusterOf(const Message& server_def) const {
  ASSIGN_OR_RETURN(ClusterSpec spec,
                   ClusterSpec::FromMessage(server_def.GetMessage(pb::ServerDef::kCluster)));
  const SessionCluster::Self self{
      .job = std::string(server_def.GetString(pb::ServerDef::kJobName)),
      .task = static_cast<int>(server_def.GetInt(pb::ServerDef::kTaskIndex))};
  if (!spec.Address(self.job, self.task).ok()) return std::shared_ptr<SessionCluster>();
  return SessionCluster::Make(environment_, std::move(spec), self, peers_.tls());
}

// A worker that has restarted does not know the sessions of its former life.
Result<OwnedMessage> Worker::CreateWorkerSession(const Message& request, const WorkerCall&) {
  WorkerSession session;
  const Message& server = request.GetMessage(pb::CreateWorkerSessionRequest::kServerDef);
  std::string leader(CollectiveLeaderOf(server.GetMessage(pb::ServerDef::kDefaultSessionConfig)));
  if (!leader.empty()) {
    ASSIGN_OR_RETURN(leader, CollectiveRendezvous::ParseLeader(leader));
  }
  ASSIGN_OR_RETURN(session.cluster, OwnClusterOf(server));
  if (session.cluster == nullptr) {
    // A master that names itself only introduces tasks; one that does not hands on its client's
    // word.
    const bool only_new = request.Has(pb::CreateWorkerSessionRequest::kMasterTask);
    RETURN_IF_ERROR(peers_.Update(server.GetMessage(pb::ServerDef::kCluster), only_new));
  }
  if (request.GetBool(pb::CreateWorkerSessionRequest::kIsolateSessionState)) {
    session.state = std::make_shared<ResourceManager>();
  }
  const std::string name(request.GetString(pb::CreateWorkerSessionRequest::kSessionHandle));
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(limits_.CheckSessions(sessions_.size()));
    sessions_.emplace(name, std::move(session));
    if (!leader.empty()) collectives_.SetLeader(name, std::move(leader));
  }
  health_.HearMaster(request);  // it may be lost before its first heartbeat
  return OwnedMessage(pb::CreateWorkerSessionResponse::Descriptor());
}

Result<OwnedMessage> Worker::DeleteWorkerSession(const Message& request, const WorkerCall&) {
  EndSession(std::string(request.GetString(pb::DeleteWorkerSessionRequest::kSessionHandle)));
  return OwnedMessage(pb::DeleteWorkerSessionResponse::Descriptor());
}

void Worker::EndSession(const std::string& session) {
  health_.ForgetSession(session);
  collectives_.ForgetSession(session);
  const std::string prefix = GraphKey(session, "");
  std::vector<std::shared_ptr<SessionCore>> cores;
  {
    MutexLock lock(mutex_);
    sessions_.erase(session);
    auto at = graphs_.lower_bound(prefix);
    while (at != graphs_.end() && at->first.starts_with(prefix)) {
      cores.push_back(std::move(at->second.core));
      at = graphs_.erase(at);
    }
  }
  for (const auto& core : cores) core->Close();
  channels_.steps().RemoveSession(NumberOfHandle(session), Cancelled("Session has been closed."));
  channels_.TrimMemory();
}

Result<OwnedMessage> Worker::RegisterGraph(const Message& request, const WorkerCall& call) {
  namespace Request = pb::RegisterGraphRequest;
  const std::string session(
      SessionOf(request, Request::kSessionHandle, Request::kCreateWorkerSessionCalled));
  std::shared_ptr<ResourceManager> state;
  RegisteredGraph made;
  if (request.GetBool(Request::kCreateWorkerSessionCalled)) {
    MutexLock lock(mutex_);
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) {
      return Aborted("Session handle is not found: ", session, ". Possibly, this worker (",
                     peers_.self(), ") just restarted.");
    }
    state = found->second.state;
    made.cluster = found->second.cluster;
  }
  for (const Message* node : request.GetMessage(Request::kGraphDef).Messages(pb::GraphDef::kNode)) {
    if (!node->GetString(pb::NodeDef::kDevice).empty()) continue;
    return InvalidArgument("node '", node->GetString(pb::NodeDef::kName),
                           "' has no device: a master says where each node of a part runs");
  }
  RETURN_IF_ERROR(limits_.CheckNodes(request.GetMessage(Request::kGraphDef), 0));
  auto graph = std::make_shared<Graph>(environment_->shared_ops());
  ImportOptions importing;
  importing.validate_versions = false;
  importing.allocator = environment_->allocator().get();
  const OwnedMessage def = AsUsersGraph(request.GetMessage(Request::kGraphDef));
  RETURN_IF_ERROR(ImportGraphDef(*def, *graph, importing).status());
  Signature signature;
  signature.targets = Sinks(*graph);
  SessionOptions options;
  options.placement = PlacementRule::kStrict;
  options.share_resources = true;
  made.loop_peers = LoopPeers(*graph, PeersOf(made).self());
  // Only masters that know members of TensorFlow's say a key.
  made.exchanges_buffers = request.GetInt(Request::kCollectiveGraphKey) != 0;
  RemoteParts parts;
  parts.state = std::move(state);
  parts.is_worker = true;
  made.core = std::make_shared<SessionCore>(
      made.cluster == nullptr ? environment_ : made.cluster->environment, graph, options,
      std::move(parts));
  RunOptions compiling;
  compiling.timeout = call.timeout;
  compiling.cancellation = call.cancellation;
  ASSIGN_OR_RETURN(PreparedPlan prepared, made.core->GetPlan(signature, compiling));
  made.plan = std::move(prepared.plan);
  ASSIGN_OR_RETURN(const std::shared_ptr<ChannelEdges> edges, ConnectEdges(request));
  std::array<char, 17> handle;
  {
    MutexLock lock(mutex_);
    const uint64_t number = next_graph_++;
    std::snprintf(handle.data(), handle.size(), "%016" PRIx64, number);
    if (edges != nullptr) {
      channels_.steps().AddPlan(NumberOfHandle(session), number,
                                {edges, [this, made](ChannelRendezvous& step, PartRun& how) {
                                   return RunByChannel(made, step, how);
                                 }});
    }
    graphs_.emplace(GraphKey(session, handle.data()), std::move(made));
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
  const std::string key =
      GraphKey(SessionOf(request, Request::kSessionHandle, Request::kCreateWorkerSessionCalled),
               request.GetString(Request::kGraphHandle));
  ASSIGN_OR_RETURN(const RegisteredGraph graph, FindGraph(key));
  {
    MutexLock lock(mutex_);
    graphs_.erase(key);
  }
  channels_.steps().RemovePlan(NumberOfHandle(request.GetString(Request::kSessionHandle)),
                               NumberOfHandle(request.GetString(Request::kGraphHandle)));
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
  // What was seen until then: TensorFlow's masters do not look.
  if (const Message* seen = response->FindMessage(Response::kStepStats)) {
    failed->Mutable(Response::kStepStats)->CopyFrom(*seen);
  }
  return failed;
}

StepRequest Worker::PartRequest(const RegisteredGraph& graph, RpcStepRendezvous& step) {
  if (graph.exchanges_buffers) step.ExchangeBuffers();
  StepRequest run;
  run.step_id = step.id();
  run.rendezvous = &step;
  run.collectives = &step;
  run.feeds_and_fetches = &step;
  run.cancellation = &step.cancellation();
  if (!AreAllOurs(PeersOf(graph), graph.loop_peers)) run.frames = &step;
  return run;
}

Status Worker::RunPart(const RegisteredGraph& graph, RpcStepRendezvous& step,
                       const WorkerCall& call, StepStats* stats) {
  StepRequest run = PartRequest(graph, step);
  run.stats = stats;
  run.timeout = call.timeout;
  // Two reasons to end early: the call, and the step as a whole.
  CancellationManager ends(&step.cancellation());
  const ScopedCancellation outside(call.cancellation,
                                   [&ends](const Status& why) { ends.Cancel(why); });
  run.cancellation = &ends;
  StepCounter::Open open(parts_);
  Status status = open.End(graph.plan->prepared->Run(run));
  if (!status.ok()) step.Abort(status);  // who waits for a tensor of this part gets the reason
  return status;
}

// The end of the call is the end of the step: nothing else would end the part.
Status Worker::AwaitPart(RpcStepRendezvous& step, RpcStepRendezvous::Part& part,
                         const WorkerCall& call) {
  const ScopedCancellation outside(call.cancellation,
                                   [&step](const Status& why) { step.Abort(why); });
  Clock& clock = environment_->clock();
  if (call.timeout.count() > 0 &&
      !part.ended.WaitUntil(clock, Deadline::After(clock, call.timeout))) {
    step.Abort(DeadlineExceeded("the partial run did not end on ", peers_.self(),
                                " in the time that its last call was given"));
  }
  part.ended.Wait();
  return part.status;
}

// The first call of a partial run starts the part, the last one waits for it.
Status Worker::ContinuePart(const std::string& key, const RegisteredGraph& graph,
                            const std::shared_ptr<RpcStepRendezvous>& step, const WorkerCall& call,
                            bool last) {
  bool is_new = false;
  const std::shared_ptr<RpcStepRendezvous::Part> part = step->FindPart(key, &is_new);
  if (is_new) {
    {
      MutexLock lock(mutex_);
      ++open_parts_;
    }
    // Between the calls it waits without a thread.
    graph.plan->prepared->RunAsync(PartRequest(graph, *step),
                                   [this, graph, step, part](const Status& status) {
                                     part->status = status;
                                     if (!status.ok()) step->Abort(status);
                                     part->ended.Notify();
                                     MutexLock lock(mutex_);
                                     if (--open_parts_ == 0) parts_ended_.NotifyAll();
                                   });
  }
  if (!last) return OkStatus();
  return AwaitPart(*step, *part, call);
}

// With what the master wants to know of the run.
Status Worker::RunTraced(const Message& options, const RegisteredGraph& graph,
                         RpcStepRendezvous& step, const WorkerCall& call, Message* response) {
  namespace Response = pb::RunGraphResponse;
  if (options.GetBool(pb::ExecutorOpts::kRecordPartitionGraphs)) {
    for (const StepPartition& part : graph.plan->parts) {
      ASSIGN_OR_RETURN(const OwnedMessage def, ExportGraphDef(*part.step.graph));
      response->Add(Response::kPartitionGraph)->CopyFrom(*def);
    }
  }
  if (!options.GetBool(pb::ExecutorOpts::kRecordTimeline)) return RunPart(graph, step, call);
  StepStats stats;
  Status status = RunPart(graph, step, call, &stats);
  KeepFirstError(StepStatsToMessage(std::move(stats), response->Mutable(Response::kStepStats)),
                 &status);
  return status;
}

Status Worker::RunGraphInto(const Message& request, const WorkerCall& call, Message* response) {
  namespace Request = pb::RunGraphRequest;
  const std::string graph_key =
      GraphKey(SessionOf(request, Request::kSessionHandle, Request::kCreateWorkerSessionCalled),
               request.GetString(Request::kGraphHandle));
  ASSIGN_OR_RETURN(const RegisteredGraph graph, FindGraph(graph_key));
  ASSIGN_OR_RETURN(
      const std::shared_ptr<RpcStepRendezvous> step,
      steps_.Begin(request.GetInt(Request::kStepId),
                   std::string(request.GetString(Request::kSessionHandle)), graph.cluster));
  for (const Message* fed : request.Messages(Request::kSend)) {
    ASSIGN_OR_RETURN(const RendezvousKey key,
                     ParseRendezvousKey(fed->GetString(pb::NamedTensorProto::kName)));
    ASSIGN_OR_RETURN(Tensor value, TensorFromProto(fed->GetMessage(pb::NamedTensorProto::kTensor),
                                                   {.allocator = environment_->allocator().get()}));
    RETURN_IF_ERROR(step->Send(key, {std::move(value), false}));
  }
  if (request.GetBool(Request::kIsPartial)) {
    RETURN_IF_ERROR(
        ContinuePart(graph_key, graph, step, call, request.GetBool(Request::kIsLastPartialRun)));
  } else {
    RETURN_IF_ERROR(
        RunTraced(request.GetMessage(Request::kExecOpts), graph, *step, call, response));
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

}  // namespace thalweg
