// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/cluster_runner.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/cluster/master/channel_parts.h"
#include "thalweg/cluster/master/step_tracer.h"
#include "thalweg/cluster/peers/loop_peers.h"
#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/session/collective_members.h"

namespace thalweg {
namespace {

// A part on another task, as it was registered there.
struct RemotePart {
  std::string task;
  std::string graph_handle;
  std::vector<std::pair<int, std::string>> feeds;    // number, key
  std::vector<std::pair<int, std::string>> fetches;  // number, key
};

// What becomes of one step: the first error stays, and ends it here and everywhere.
class StepEnd {
 public:
  StepEnd(TaskStep& step, CancellationManager& calls) : step_(step), calls_(calls) {}

  void Begin(int calls) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    open_ = calls;
  }
  // One call has ended.
  void End(const Status& status) EXCLUDES(mutex_) {
    if (!status.ok()) Fail(status);
    MutexLock lock(mutex_);
    if (--open_ == 0) changed_.NotifyAll();
  }
  void Fail(const Status& status) EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      if (!status_.ok()) return;
      status_ = status;
    }
    step_.Abort(status);
    calls_.Cancel(status);
  }
  Status Wait() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (open_ > 0) changed_.Wait(mutex_);
    return status_;
  }

 private:
  TaskStep& step_;
  CancellationManager& calls_;
  Mutex mutex_;
  CondVar changed_;
  int open_ GUARDED_BY(mutex_) = 0;
  Status status_ GUARDED_BY(mutex_);
};

Status SetAttr(Message* node, const char* name, const AttrValue& value) {
  return AttrValueToProto(value, node->MapMutable(pb::NodeDef::kAttr, name));
}

Status SetClientEdge(Message* node, const RendezvousKey& key) {
  RETURN_IF_ERROR(SetAttr(node, "tensor_name", key.edge));
  RETURN_IF_ERROR(SetAttr(node, "send_device", key.source));
  RETURN_IF_ERROR(SetAttr(node, "send_device_incarnation", static_cast<int64_t>(key.incarnation)));
  RETURN_IF_ERROR(SetAttr(node, "recv_device", key.destination));
  return SetAttr(node, "client_terminated", true);
}

}  // namespace

class ClusterPreparedStep : public PreparedStep {
 public:
  explicit ClusterPreparedStep(ClusterRunner& runner) : runner_(runner) {}

  Status Prepare(const PrepareRequest& request) {
    exchanges_buffers_ = HasForeignCollectives(request);
    if (Status channels = PrepareChannels(request); !channels.ok()) {
      if (is_lost_) return channels;  // to ask once more would only take longer
      remote_.clear();
      pushed_.clear();
      for (const StepPartition& part : request.parts) {
        if (!IsHere(part)) RETURN_IF_ERROR(Register(part, nullptr));
      }
    }
    for (const StepPartition& part : request.parts) {
      if (!IsHere(part)) continue;
      for (std::string& peer : LoopPeers(*part.step.graph, runner_.peers_.self())) {
        loop_peers_.push_back(std::move(peer));
      }
      StepPartition& here = local_parts_.emplace_back(part);
      for (int& fetch : here.fetches) {
        local_fetches_.push_back(std::exchange(fetch, static_cast<int>(local_fetches_.size())));
      }
    }
    for (const RemotePart& part : remote_) {
      if (std::ranges::count(tasks_, part.task) == 0) tasks_.push_back(part.task);
    }
    if (local_parts_.empty()) return OkStatus();
    tasks_.push_back(runner_.peers_.self());
    ASSIGN_OR_RETURN(
        local_, runner_.local_.Prepare({.parts = local_parts_,
                                        .num_feeds = request.num_feeds,
                                        .num_fetches = static_cast<int>(local_fetches_.size())}));
    return OkStatus();
  }

  Status Run(const StepRequest& request) override {
    if (remote_.empty()) return local_ == nullptr ? OkStatus() : RunHere(request);
    {
      MutexLock lock(runner_.mutex_);
      if (runner_.stopped_) return runner_.stopping_.Reason();
      ++runner_.running_;
    }
    Status status = RunEverywhere(request);
    MutexLock lock(runner_.mutex_);
    if (--runner_.running_ == 0) runner_.changed_.NotifyAll();
    return status;
  }

  Result<StepMemory> PlanMemory(std::span<const Tensor> feeds) const override {
    return local_ == nullptr ? Result<StepMemory>(StepMemory()) : local_->PlanMemory(feeds);
  }
  std::string Describe() const override {
    std::string text = local_ == nullptr ? "" : local_->Describe();
    for (const RemotePart& part : remote_) {
      text += StrCat("on ", part.task, ": graph ", part.graph_handle, "\n");
    }
    return text;
  }

 private:
  RendezvousKey ClientKey(int device, const char* kind, int number) const {
    const std::string& name = runner_.options_.device_names[device];
    return {.source = name,
            .incarnation = runner_.options_.device_incarnations[device],
            .destination = name,
            .edge = StrCat(kind, "_", number),
            .tag = 0};
  }

  // Every attribute, also defaults, but none that the task's release lacks.
  ExportOptions ExportFor(std::string_view task) const {
    return {.for_1_15 =
                runner_.peers_.KnownRelease(task).value_or(Release::k1_15) == Release::k1_15};
  }

  // The part as a graph of its own: feeds are received, fetches sent.
  Result<OwnedMessage> GraphOf(const StepPartition& part, RemotePart* remote) const {
    const std::string& device = runner_.options_.device_names[part.device];
    ASSIGN_OR_RETURN(OwnedMessage def, ExportGraphDef(*part.step.graph, ExportFor(TaskOf(device))));
    std::unordered_map<std::string_view, int> feed_of;
    for (size_t i = 0; i < part.step.feeds.size(); ++i) {
      if (part.step.feeds[i].node != nullptr) {
        feed_of.emplace(part.step.feeds[i].node->name(), static_cast<int>(i));
      }
    }
    for (Message* node : def->MutableMessages(pb::GraphDef::kNode)) {
      node->SetString(pb::NodeDef::kDevice, device);
      const auto feed = feed_of.find(node->GetString(pb::NodeDef::kName));
      if (feed == feed_of.end()) continue;
      const RendezvousKey key = ClientKey(part.device, "feed", feed->second);
      const Node& placeholder = *part.step.feeds[feed->second].node;
      node->SetString(pb::NodeDef::kOp, "_Recv");
      node->Clear(pb::NodeDef::kInput);
      node->Clear(pb::NodeDef::kAttr);
      RETURN_IF_ERROR(SetAttr(node, "tensor_type", placeholder.output_type(0)));
      RETURN_IF_ERROR(SetClientEdge(node, key));
      remote->feeds.emplace_back(feed->second, key.ToString());
    }
    for (size_t i = 0; i < part.fetches.size(); ++i) {
      const Output& fetch = part.step.fetches[i];
      const RendezvousKey key = ClientKey(part.device, "fetch", part.fetches[i]);
      Message* const node = def->Add(pb::GraphDef::kNode);
      node->SetString(pb::NodeDef::kName, part.step.graph->UniqueName(StrCat("fetch_", i)));
      node->SetString(pb::NodeDef::kOp, "_Send");
      node->SetString(pb::NodeDef::kDevice, device);
      node->AddString(pb::NodeDef::kInput, fetch.ToString());
      RETURN_IF_ERROR(SetAttr(node, "T", fetch.dtype()));
      RETURN_IF_ERROR(SetClientEdge(node, key));
      remote->fetches.emplace_back(part.fetches[i], key.ToString());
    }
    RenameEnds(def.get());
    return def;
  }

  // TensorFlow's workers keep the kernels of a session's stateful nodes by name, also for its next
  // graph, where a Send or Recv of the same name has another key.
  void RenameEnds(Message* def) const {
    const std::string suffix = StrCat("_S", runner_.next_graph_.fetch_add(1));
    std::unordered_set<std::string> ends;
    for (const Message* node : def->Messages(pb::GraphDef::kNode)) {
      const std::string_view op = node->GetString(pb::NodeDef::kOp);
      if (op == "_Send" || op == "_Recv") ends.emplace(node->GetString(pb::NodeDef::kName));
    }
    for (Message* node : def->MutableMessages(pb::GraphDef::kNode)) {
      const std::string name(node->GetString(pb::NodeDef::kName));
      if (ends.contains(name)) node->SetString(pb::NodeDef::kName, StrCat(name, suffix));
      for (std::string_view& input : node->MutableRepeated<std::string_view>(pb::NodeDef::kInput)) {
        const size_t begin = input.starts_with('^') ? 1 : 0;
        const size_t end = std::min(input.size(), input.find(':'));
        if (!ends.contains(std::string(input.substr(begin, end - begin)))) continue;
        input = def->arena().Copy(StrCat(input.substr(0, end), suffix, input.substr(end)));
      }
    }
  }

  // Members of collective operations run on tasks of TensorFlow's.
  bool HasForeignCollectives(const PrepareRequest& request) const {
    return std::ranges::any_of(request.parts, [&](const StepPartition& part) {
      const std::string_view task = TaskOf(runner_.options_.device_names[part.device]);
      if (IsHere(part) || runner_.peers_.KnownRelease(task) == Release::kThalweg) return false;
      return std::ranges::any_of(part.step.graph->Nodes(), [](const Node* node) {
        return node->op_name().starts_with("Collective");
      });
    });
  }

  bool IsHere(const StepPartition& part) const {
    return static_cast<size_t>(part.device) < runner_.options_.num_local_devices;
  }

  // An error: the step is run in TensorFlow's way, which says what is wrong if anything is.
  Status PrepareChannels(const PrepareRequest& request) {
    constexpr std::chrono::nanoseconds kMeeting = std::chrono::seconds(3);  // with who is there
    std::vector<std::string> tasks;
    for (const StepPartition& part : request.parts) {
      if (!IsHere(part)) tasks.emplace_back(TaskOf(runner_.options_.device_names[part.device]));
    }
    CancellationManager calls(&runner_.stopping_);
    const Health::Watch watch(runner_.health_, {.tasks = std::move(tasks)},
                              [&](const Status& why) { calls.Cancel(why); });
    ChannelPlanner planner(
        runner_.links_, runner_.peers_.self(),
        {.timeout = std::min(runner_.options_.register_timeout, kMeeting), .cancellation = &calls});
    RETURN_IF_ERROR(runner_.links_.steps().AddSession(runner_.SessionNumber()));
    for (const StepPartition& part : request.parts) {
      Status status = IsHere(part) ? planner.AddHere(*part.step.graph) : Register(part, &planner);
      if (status.ok()) continue;
      if (is_lost_ || !calls.IsCancelled()) return status;
      is_lost_ = true;
      return calls.Reason();
    }
    edges_ = planner.edges();
    return OkStatus();
  }

  // With a planner: to run through channels.
  Status Register(const StepPartition& part, ChannelPlanner* planner) {
    namespace Request = pb::RegisterGraphRequest;
    RemotePart remote;
    remote.task = TaskOf(runner_.options_.device_names[part.device]);
    RETURN_IF_ERROR(CheckLoopReleases(*part.step.graph, remote.task, runner_.peers_));
    ASSIGN_OR_RETURN(const OwnedMessage def, GraphOf(part, &remote));
    RemoteStepPart pushed;
    if (planner != nullptr) {
      ASSIGN_OR_RETURN(pushed, planner->MarkPart(remote.task, def.get()));
    }
    OwnedMessage request(Request::Descriptor());
    request->SetString(Request::kSessionHandle, runner_.options_.session);
    request->SetBool(Request::kCreateWorkerSessionCalled, true);
    request->Mutable(Request::kGraphDef)->CopyFrom(*def);
    request->Mutable(Request::kGraphOptions);
    request->Mutable(Request::kDebugOptions);
    // Any number: it only says that there are collective operations. The steps' are shared anyway.
    if (exchanges_buffers_) request->SetInt(Request::kCollectiveGraphKey, 1);
    CancellationManager calls(&runner_.stopping_);
    const Health::Watch watch(runner_.health_, {.tasks = {remote.task}},
                              [&](const Status& why) { calls.Cancel(why); });
    Result<OwnedMessage> answer = runner_.peers_.Call(
        remote.task, "RegisterGraph", *request, pb::RegisterGraphResponse::Descriptor(),
        {.timeout = runner_.options_.register_timeout, .cancellation = &calls});
    if (!answer.ok() && calls.IsCancelled()) {
      is_lost_ = true;
      return calls.Reason().WithContext(StrCat("while ", remote.task, " was given its graph"));
    }
    if (!answer.ok()) return WithAccount(answer.status(), remote.task);
    const OwnedMessage response = *std::move(answer);
    remote.graph_handle = response->GetString(pb::RegisterGraphResponse::kGraphHandle);
    pushed.plan = NumberOfHandle(remote.graph_handle);
    pushed.incarnation = runner_.options_.device_incarnations[part.device];
    if (planner != nullptr) pushed_.push_back(std::move(pushed));
    remote_.push_back(std::move(remote));
    return OkStatus();
  }

  Status RunPushed(const StepRequest& request) {
    DriveRequest drive{.session = runner_.SessionNumber(),
                       .parts = pushed_,
                       .edges = edges_,
                       .feeds = request.feeds,
                       .fetches = request.fetches,
                       .timeout = OfWorkers(request)};
    CancellationManager ends(&runner_.stopping_);
    CancellationManager::Token token = 0;
    bool registered = false;
    if (CancellationManager* const outside = request.cancellation; outside != nullptr) {
      registered = outside->Register([&ends, outside] { ends.Cancel(outside->Reason()); }, &token);
      if (!registered) ends.Cancel(outside->Reason());
    }
    drive.cancellation = &ends;
    if (local_ != nullptr) {
      drive.run_here = [&](ChannelStep& step) {
        StepRequest here = request;
        here.step_id = static_cast<int64_t>(step.id());
        here.rendezvous = &step;
        here.cancellation = &step.cancellation();
        here.timeout = std::chrono::nanoseconds(0);  // the watch's
        here.idle = &runner_.links_.steps().hub();
        here.allocator = runner_.links_.step_allocator();
        return RunHere(here);
      };
    }
    std::optional<Health::Watch> watch;
    drive.opened = [&](uint64_t step) {
      watch.emplace(
          runner_.health_,
          Health::Watched{
              .step = static_cast<int64_t>(step), .tasks = tasks_, .timeout = request.timeout},
          [&ends](const Status& why) { ends.Cancel(why); });
    };
    Status status = runner_.links_.steps().Drive(drive);
    if (registered) request.cancellation->Deregister(token);
    if (ends.IsCancelled()) return status;  // whoever ended it has said why
    for (size_t i = 0; i < pushed_.size(); ++i) {
      if (pushed_[i].link->closed()) return WithAccount(status, remote_[i].task);
    }
    return status;
  }

  // The parts of this task, whose fetches are some of the step's.
  Status RunHere(StepRequest request) {
    std::vector<Tensor> fetched(local_fetches_.size());
    const std::span<Tensor> wanted = request.fetches;
    request.fetches = fetched;
    RETURN_IF_ERROR(local_->Run(request));
    for (size_t i = 0; i < fetched.size(); ++i) wanted[local_fetches_[i]] = std::move(fetched[i]);
    return OkStatus();
  }

  Status RunEverywhere(const StepRequest& request) {
    // A trace comes with the answers of calls.
    if (edges_ != nullptr && request.stats == nullptr) return RunPushed(request);
    // Masters share the numbers of steps without asking each other.
    const auto id = static_cast<int64_t>(RandomSeed() >> 8 | 1);
    ASSIGN_OR_RETURN(const std::shared_ptr<TaskStep> step,
                     runner_.steps_.Begin(id, runner_.options_.session));
    if (exchanges_buffers_) step->ExchangeBuffers();
    CancellationManager calls(&runner_.stopping_);
    StepEnd end(*step, calls);
    CancellationManager::Token token = 0;
    bool registered = false;
    if (request.cancellation != nullptr) {
      registered =
          request.cancellation->Register([&] { end.Fail(request.cancellation->Reason()); }, &token);
      if (!registered) end.Fail(request.cancellation->Reason());
    }
    end.Begin(static_cast<int>(remote_.size()));
    std::vector<std::string> remote_tasks;
    for (const RemotePart& part : remote_) remote_tasks.push_back(part.task);
    StepTracer tracer(runner_.peers_, runner_.steps_, std::move(remote_tasks), id, request.stats);
    Status status;
    {
      const Health::Watch watch(runner_.health_,
                                {.step = id, .tasks = tasks_, .timeout = request.timeout},
                                [&end](const Status& why) { end.Fail(why); });
      for (size_t i = 0; i < remote_.size(); ++i) {
        Start(remote_[i], id, request, &calls, &end, tracer.PlaceFor(i));
      }
      if (local_ != nullptr) {
        StepRequest here = request;
        here.step_id = id;
        here.rendezvous = step.get();
        if (!AreAllOurs(runner_.peers_, loop_peers_)) here.frames = step.get();
        here.cancellation = &calls;
        here.timeout = std::chrono::nanoseconds(0);  // the watch's
        const Status ended = RunHere(here);
        if (!ended.ok()) end.Fail(ended);
      }
      status = end.Wait();
    }
    if (registered) request.cancellation->Deregister(token);
    tracer.Finish();
    Cleanup(id);
    return status;
  }

  void Start(const RemotePart& part, int64_t id, const StepRequest& step,
             CancellationManager* calls, StepEnd* end, OwnedMessage* stats) {
    namespace Request = pb::RunGraphRequest;
    const std::chrono::nanoseconds timeout = OfWorkers(step);
    OwnedMessage request(Request::Descriptor());
    request->SetString(Request::kSessionHandle, runner_.options_.session);
    request->SetBool(Request::kCreateWorkerSessionCalled, true);
    request->SetString(Request::kGraphHandle, part.graph_handle);
    request->SetInt(Request::kStepId, id);
    request->SetBool(Request::kStoreErrorsInResponseBody, true);
    request->SetInt(Request::kRequestId, static_cast<int64_t>(RandomSeed() | 1));
    Message* const options = request->Mutable(Request::kExecOpts);
    if (stats != nullptr) options->SetBool(pb::ExecutorOpts::kRecordTimeline, true);
    for (const auto& [number, key] : part.feeds) {
      Message* const fed = request->Add(Request::kSend);
      fed->SetString(pb::NamedTensorProto::kName, key);
      const Status status =
          TensorToProto(step.feeds[number], fed->Mutable(pb::NamedTensorProto::kTensor));
      if (!status.ok()) return end->End(status);
    }
    for (const auto& [number, key] : part.fetches) request->AddString(Request::kRecvKey, key);
    runner_.peers_.Call(part.task, "RunGraph", *request, pb::RunGraphResponse::Descriptor(),
                        {.timeout = timeout, .cancellation = calls},
                        [this, &part, &step, end, stats](Result<OwnedMessage> response) {
                          const Status taken = Take(part, step, response);
                          if (taken.ok() && stats != nullptr) *stats = *std::move(response);
                          end->End(taken);
                        });
  }

  // The deadline is the master's: it says who waited. A worker that hears no more of it ends alone.
  static std::chrono::nanoseconds OfWorkers(const StepRequest& step) {
    constexpr std::chrono::seconds kLater{5};
    return step.timeout.count() > 0 ? step.timeout + kLater : step.timeout;
  }

  // Of a call to a task that is gone or silent: also what is known of it.
  Status WithAccount(const Status& status, const std::string& task) const {
    if (status.code() != Code::kUnavailable && status.code() != Code::kDeadlineExceeded)
      return status;
    return Status(status.code(), StrCat(status.message(), runner_.health_.Account(task)));
  }

  Status Take(const RemotePart& part, const StepRequest& step,
              const Result<OwnedMessage>& response) {
    namespace Response = pb::RunGraphResponse;
    if (!response.ok()) return WithAccount(response.status(), part.task);
    const Message& answer = **response;
    if (const int64_t code = answer.GetInt(Response::kStatusCode); code != 0) {
      return Status(
          static_cast<Code>(code),
          StrCat("From ", part.task, ":\n", answer.GetString(Response::kStatusErrorMessage)));
    }
    for (const Message* got : answer.Messages(Response::kRecv)) {
      const std::string_view key = got->GetString(pb::NamedTensorProto::kName);
      const auto found = std::find_if(part.fetches.begin(), part.fetches.end(),
                                      [&](const auto& fetch) { return fetch.second == key; });
      if (found == part.fetches.end()) return Internal(part.task, " sent '", key, "' unasked");
      ASSIGN_OR_RETURN(step.fetches[found->first],
                       TensorFromProto(got->GetMessage(pb::NamedTensorProto::kTensor)));
    }
    for (const auto& [number, key] : part.fetches) {
      if (step.fetches[number].empty()) return Internal(part.task, " did not send '", key, "'");
    }
    return OkStatus();
  }

  // Nobody waits for the answers.
  void Cleanup(int64_t id) {
    runner_.steps_.Erase(id, Cancelled("step ", id, " has ended"));
    OwnedMessage request(pb::CleanupGraphRequest::Descriptor());
    request->SetInt(pb::CleanupGraphRequest::kStepId, id);
    for (const RemotePart& part : remote_) {
      runner_.peers_.Call(part.task, "CleanupGraph", *request,
                          pb::CleanupGraphResponse::Descriptor(),
                          {.timeout = std::chrono::seconds(10)}, [](Result<OwnedMessage>) {});
    }
  }

  ClusterRunner& runner_;
  // Of the parts of this task, when the step goes through channels; else null.
  std::shared_ptr<ChannelEdges> edges_;
  bool exchanges_buffers_ = false;
  bool is_lost_ = false;  // a task is, or the session was closed, while the parts were registered
  std::vector<RemoteStepPart> pushed_;
  std::vector<StepPartition> local_parts_;
  std::vector<std::string> loop_peers_;  // of those
  std::vector<int> local_fetches_;       // by number here: the number in the step
  std::unique_ptr<PreparedStep> local_;  // null: nothing runs here
  std::vector<RemotePart> remote_;
  std::vector<std::string> tasks_;  // of all parts, each once
};

Result<std::unique_ptr<PreparedStep>> ClusterRunner::Prepare(const PrepareRequest& request) {
  RETURN_IF_ERROR(CheckCollectiveMembers(request.parts));
  auto prepared = std::make_unique<ClusterPreparedStep>(*this);
  RETURN_IF_ERROR(prepared->Prepare(request));
  return std::unique_ptr<PreparedStep>(std::move(prepared));
}

void ClusterRunner::Stop(Status reason) {
  {
    MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) {
      while (running_ > 0) changed_.Wait(mutex_);
      return;
    }
  }
  stopping_.Cancel(reason);
  local_.Stop(std::move(reason));
  {
    MutexLock lock(mutex_);
    while (running_ > 0) changed_.Wait(mutex_);
  }
  links_.steps().RemoveSession(SessionNumber(), Cancelled("Session has been closed."));
  links_.TrimMemory();
  health_.CloseSession(options_.session);
  steps_.collectives()->ForgetSession(options_.session);
  // Nobody waits for the answers.
  OwnedMessage request(pb::DeleteWorkerSessionRequest::Descriptor());
  request->SetString(pb::DeleteWorkerSessionRequest::kSessionHandle, options_.session);
  for (const std::string& task : options_.tasks) {
    peers_.Call(task, "DeleteWorkerSession", *request,
                pb::DeleteWorkerSessionResponse::Descriptor(),
                {.timeout = std::chrono::seconds(10)}, [](Result<OwnedMessage>) {});
  }
}

}  // namespace thalweg
