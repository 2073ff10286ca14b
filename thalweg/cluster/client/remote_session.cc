// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/client/remote_session.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/thread.h"
#include "thalweg/cluster/client/channel_client.h"
#include "thalweg/cluster/client/master_watch.h"
#include "thalweg/cluster/debug/dump.h"
#include "thalweg/cluster/debug/placement_question.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/kernel/host_call.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/session/debug_watches.h"
#include "thalweg/session/run_metadata_message.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

// To make or extend a session without a timeout: longer than a server waits for its tasks.
constexpr std::chrono::nanoseconds kMaking = std::chrono::seconds(90);
constexpr std::chrono::seconds kClosing{10};  // for the server to hear that a session is over

// MasterService of one server.
class MasterClient {
 public:
  static Result<std::unique_ptr<MasterClient>> Connect(const std::string& target) {
    ASSIGN_OR_RETURN(const RemoteTarget where, ParseTarget(target));
    ASSIGN_OR_RETURN(const TlsTexts tls, ReadTls(where.tls));
    ASSIGN_OR_RETURN(std::unique_ptr<RpcChannel> channel,
                     RpcChannel::Connect(where.address, {.tls = tls}));
    ASSIGN_OR_RETURN(std::unique_ptr<RpcChannel> asking,
                     RpcChannel::Connect(where.address, {.tls = tls}));
    return std::make_unique<MasterClient>(target.substr(0, target.find('?')), where,
                                          std::move(channel), std::move(asking));
  }
  MasterClient(std::string target, RemoteTarget where, std::unique_ptr<RpcChannel> channel,
               std::unique_ptr<RpcChannel> asking)
      : target_(std::move(target)),
        where_(std::move(where)),
        channel_(std::move(channel)),
        asking_(std::move(asking)) {}
  const std::string& target() const { return target_; }

  MasterWatch::Limits limits() const {
    constexpr std::chrono::milliseconds kEvery{1000};
    return {.ask_every = std::min(kEvery, where_.lost_after / 3), .lost_after = where_.lost_after};
  }

  Result<OwnedMessage> Call(const char* method, const Message& request,
                            const MessageDescriptor& response, const RpcCallOptions& options) {
    ASSIGN_OR_RETURN(std::string bytes, Serialize(request, kMaxCallBytes));
    return CallBytes(method, std::move(bytes), response, options);
  }
  Result<OwnedMessage> CallBytes(const char* method, std::string bytes,
                                 const MessageDescriptor& response, const RpcCallOptions& options) {
    Result<std::string> answer =
        channel_->Call(StrCat("/tensorflow.MasterService/", method), std::move(bytes), options);
    if (!answer.ok()) return answer.status().WithContext(StrCat(method, " on ", target_));
    return ParseMessage(response, *std::move(answer), {.max_bytes = kMaxCallBytes});
  }

  Result<std::string> Explain(const SessionPlacementQuestion& question,
                              const RpcCallOptions& options) {
    Result<std::string> answer =
        channel_->Call(std::string(kExplainPlacementMethod), ToBytes(question), options);
    if (answer.ok()) return answer;
    if (answer.status().code() == Code::kUnimplemented) {
      return Unimplemented(target_,
                           " places the nodes, and cannot say why: it is a server of "
                           "another kind or release");
    }
    return answer.status().WithContext(
        StrCat("the placement of '", question.node, "' on ", target_));
  }

  // HOST:PORT, where it is spoken to without encryption; else empty.
  std::string plain_address() const { return where_.tls.empty() ? where_.address : ""; }

  // Whether the master answers at all: about a session of its own.
  void Ask(const std::string& session, std::chrono::nanoseconds timeout,
           CancellationManager& cancellation, std::function<void(const Status&)> done) {
    OwnedMessage request(pb::ListDevicesRequest::Descriptor());
    request->SetString(pb::ListDevicesRequest::kSessionHandle, session);
    Result<std::string> bytes = Serialize(*request);
    if (!bytes.ok()) return done(bytes.status());
    asking_->Call(
        "/tensorflow.MasterService/ListDevices", *std::move(bytes),
        {.timeout = timeout, .cancellation = &cancellation},
        [done = std::move(done)](const Result<std::string>& answer) { done(answer.status()); });
  }

 private:
  const std::string target_;  // as it is named in errors
  const RemoteTarget where_;
  const std::unique_ptr<RpcChannel> channel_;
  const std::unique_ptr<RpcChannel> asking_;  // its answers do not wait behind big values
};

Status FillTensor(const std::string& name, const Tensor& value, Message* named) {
  named->SetString(pb::NamedTensorProto::kName, name);
  if (value.empty()) return InvalidArgument("the value fed to '", name, "' is no tensor (empty)");
  return TensorToProto(value, named->Mutable(pb::NamedTensorProto::kTensor));
}

class RemoteSession : public Session, public std::enable_shared_from_this<RemoteSession> {
 public:
  RemoteSession(std::shared_ptr<Environment> environment, std::shared_ptr<Graph> graph,
                std::unique_ptr<MasterClient> master, RemoteSessionOptions options)
      : environment_(std::move(environment)),
        graph_(std::move(graph)),
        master_(std::move(master)),
        options_(std::move(options)),
        watch_(environment_->timer(), environment_->clock(), master_->limits(),
               [this](std::chrono::nanoseconds timeout, CancellationManager& cancellation,
                      std::function<void(const Status&)> done) {
                 master_->Ask(Handle(), timeout, cancellation, std::move(done));
               }) {}
  ~RemoteSession() override { RemoteSession::Close(); }

  const std::shared_ptr<Graph>& graph() const override { return graph_; }
  Environment& environment() const override { return *environment_; }

  Status Run(const RunOptions& options, std::span<const NamedTensor> feeds,
             std::span<const std::string> fetches, std::span<const std::string> targets,
             std::vector<Tensor>* outputs, RunMetadata* metadata) override {
    return Step(options, feeds, fetches, targets, "", outputs, metadata);
  }

  Status Run(const RunOptions& options, const Signature& signature, std::span<const Tensor> values,
             std::span<Tensor> fetches, RunMetadata* metadata) override {
    std::vector<NamedTensor> feeds;
    for (size_t i = 0; i < values.size(); ++i) {
      feeds.emplace_back(signature.feeds[i].ToString(), values[i]);
    }
    std::vector<std::string> fetch_names;
    for (const Output& fetch : signature.fetches) fetch_names.push_back(fetch.ToString());
    std::vector<std::string> target_names;
    for (const Node* target : signature.targets) target_names.push_back(target->name());
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(Step(options, feeds, fetch_names, target_names, "", &outputs, metadata));
    std::move(outputs.begin(), outputs.end(), fetches.begin());
    return OkStatus();
  }

  Result<std::shared_ptr<Callable>> MakeCallable(const Signature& signature,
                                                 const RunOptions& options,
                                                 const RunOptions* within) override;

  Result<std::string> PartialRunSetup(std::span<const std::string> feeds,
                                      std::span<const std::string> fetches,
                                      std::span<const std::string> targets,
                                      const RunOptions& options) override {
    namespace Request = pb::PartialRunSetupRequest;
    ASSIGN_OR_RETURN(const std::string handle, SendGraph(CallOptions(options)));
    OwnedMessage request(Request::Descriptor());
    request->SetString(Request::kSessionHandle, handle);
    for (const std::string& name : feeds) request->AddString(Request::kFeed, name);
    for (const std::string& name : fetches) request->AddString(Request::kFetch, name);
    for (const std::string& name : targets) request->AddString(Request::kTarget, name);
    ASSIGN_OR_RETURN(
        const OwnedMessage response,
        master_->Call("PartialRunSetup", *request, pb::PartialRunSetupResponse::Descriptor(),
                      CallOptions(options)));
    return std::string(response->GetString(pb::PartialRunSetupResponse::kPartialRunHandle));
  }
  Status PartialRun(const std::string& handle, std::span<const NamedTensor> feeds,
                    std::span<const std::string> fetches, std::vector<Tensor>* outputs) override {
    return Step({}, feeds, fetches, {}, handle, outputs, nullptr);
  }
  void EndPartialRun(const std::string&) override {}  // the server ends it with the session

  Result<std::vector<DeviceDescription>> ListDevices() override {
    namespace Attributes = pb::DeviceAttributes;
    const RpcCallOptions options = CallOptions({});
    ASSIGN_OR_RETURN(const std::string handle, SendGraph(options));
    OwnedMessage request(pb::ListDevicesRequest::Descriptor());
    request->SetString(pb::ListDevicesRequest::kSessionHandle, handle);
    ASSIGN_OR_RETURN(
        const OwnedMessage response,
        master_->Call("ListDevices", *request, pb::ListDevicesResponse::Descriptor(), options));
    std::vector<DeviceDescription> devices;
    for (const int field :
         {pb::ListDevicesResponse::kLocalDevice, pb::ListDevicesResponse::kRemoteDevice}) {
      for (const Message* device : response->Messages(field)) {
        devices.push_back(
            {.name = std::string(device->GetString(Attributes::kName)),
             .type = std::string(device->GetString(Attributes::kDeviceType)),
             .memory_limit = device->GetInt(Attributes::kMemoryLimit),
             .incarnation = device->GetUint(Attributes::kIncarnation),
             .hardware = std::string(device->GetString(Attributes::kPhysicalDeviceDesc))});
      }
    }
    return devices;
  }
  // The master places, by its own costs and over all tasks' devices: it is asked.
  Result<std::string> ExplainPlacement(std::string_view node) override {
    if (graph_->FindNode(node) == nullptr) {
      return NotFound("no node named '", node, "' in the graph");
    }
    const RpcCallOptions options = CallOptions({});
    ASSIGN_OR_RETURN(const std::string handle, SendGraph(options));
    return master_->Explain({.session = handle, .node = std::string(node)}, options);
  }
  Result<std::string> DescribePlan(std::span<const std::string>, std::span<const std::string>,
                                   std::span<const std::string>) override {
    return Unimplemented("the server makes the plan, and does not show it");
  }
  void ResetContainers(const std::vector<std::string>& containers) override {
    OwnedMessage request(pb::ResetRequest::Descriptor());
    for (const std::string& name : containers) {
      request->AddString(pb::ResetRequest::kContainer, name);
    }
    master_->Call("Reset", *request, pb::ResetResponse::Descriptor(), {.timeout = options_.timeout})
        .status()
        .IgnoreError();
  }

  void Close() override {
    if (!CheckNotForked().ok()) return;  // it is the session of the process that made it
    std::string handle;
    {
      MutexLock lock(mutex_);
      if (std::exchange(closed_, true)) return;
      handle = handle_;
    }
    closing_.Cancel(Cancelled("Session has been closed."));
    if (channel_ != nullptr) channel_->Stop();
    if (handle.empty()) return;
    const auto end = [master = master_, handle, timeout = options_.timeout] {
      OwnedMessage request(pb::CloseSessionRequest::Descriptor());
      request->SetString(pb::CloseSessionRequest::kSessionHandle, handle);
      master
          ->Call("CloseSession", *request, pb::CloseSessionResponse::Descriptor(),
                 {.timeout = timeout.count() > 0
                                 ? std::min<std::chrono::nanoseconds>(timeout, kClosing)
                                 : kClosing})
          .status()
          .IgnoreError();
    };
    if (!HostCall::IsInside()) return end();
    // The server may be in this process, and wait for the step that has called this function.
    Thread::Detach("close", end);
  }

 private:
  std::chrono::nanoseconds TimeoutOf(const RunOptions& options) const {
    return options.timeout.count() > 0 ? options.timeout : options_.timeout;
  }
  // The server keeps the deadline, and says who waited; the call's own is for a server that does
  // not answer.
  RpcCallOptions CallOptions(const RunOptions& options) {
    constexpr std::chrono::nanoseconds kGrace = std::chrono::seconds(1);
    constexpr std::chrono::nanoseconds kMost = std::chrono::hours(24 * 365);
    const std::chrono::nanoseconds timeout = std::min(TimeoutOf(options), kMost);
    const std::chrono::nanoseconds left = timeout - std::min(options.spent, timeout);
    return {.timeout = timeout.count() > 0 ? left + kGrace : timeout,
            .cancellation = options.cancellation != nullptr ? options.cancellation : &closing_};
  }

  std::string Handle() EXCLUDES(handle_mutex_) {
    MutexLock lock(handle_mutex_);
    return shown_handle_;
  }

  // The session's handle, once the server has all nodes that are there now.
  Result<std::string> SendGraph(RpcCallOptions options) EXCLUDES(mutex_) {
    if (options.timeout.count() == 0) options.timeout = kMaking;
    MutexLock lock(mutex_);
    if (closed_) return Cancelled("Session has been closed.");
    if (!handle_.empty() && graph_->num_nodes() == sent_nodes_) return handle_;
    ASSIGN_OR_RETURN(OwnedMessage def,
                     ExportGraphDef(*graph_, {.for_1_15 = true,
                                              .call_sites = true,
                                              .first_node = static_cast<size_t>(sent_nodes_)}));
    const int nodes = sent_nodes_ + static_cast<int>(def->Size(pb::GraphDef::kNode));
    if (handle_.empty()) {
      namespace Request = pb::CreateSessionRequest;
      OwnedMessage request(Request::Descriptor());
      request->Mutable(Request::kGraphDef)->CopyFrom(*def);
      // By it a master finds itself in a cluster_def.
      request->SetString(Request::kTarget, master_->target());
      if (options_.config.has_value()) {
        RETURN_IF_ERROR(MergeFromBytes(*request->Mutable(Request::kConfig), *options_.config));
      }
      ASSIGN_OR_RETURN(const OwnedMessage response,
                       master_->Call("CreateSession", *request,
                                     pb::CreateSessionResponse::Descriptor(), options));
      handle_ = response->GetString(pb::CreateSessionResponse::kSessionHandle);
      MutexLock shown(handle_mutex_);
      shown_handle_ = handle_;
    } else {
      namespace Request = pb::ExtendSessionRequest;
      OwnedMessage request(Request::Descriptor());
      request->SetString(Request::kSessionHandle, handle_);
      request->Mutable(Request::kGraphDef)->CopyFrom(*def);
      request->SetInt(Request::kCurrentGraphVersion, version_);
      ASSIGN_OR_RETURN(const OwnedMessage response,
                       master_->Call("ExtendSession", *request,
                                     pb::ExtendSessionResponse::Descriptor(), options));
      version_ = response->GetInt(pb::ExtendSessionResponse::kNewGraphVersion);
    }
    sent_nodes_ = nodes;
    return handle_;
  }

  // The callable of a step that goes through a channel; none where it is run by calls. An error:
  // the master or a task is lost, or the time is over.
  Result<std::optional<int64_t>> ChannelCallable(const std::string& handle,
                                                 std::span<const NamedTensor> feeds,
                                                 std::span<const std::string> fetches,
                                                 std::span<const std::string> targets,
                                                 const RpcCallOptions& calling) EXCLUDES(mutex_) {
    const std::optional<int64_t> none;
    namespace Options = pb::CallableOptions;
    constexpr size_t kMostCallables = 1000;
    constexpr std::chrono::seconds kConnectTimeout{5};
    OwnedMessage request(pb::MakeCallableRequest::Descriptor());
    std::string key;
    for (const auto& [name, value] : feeds) key += StrCat("<", name, "\n");
    for (const std::string& name : fetches) key += StrCat(">", name, "\n");
    for (const std::string& name : targets) key += StrCat("!", name, "\n");
    MutexLock lock(mutex_);
    if (!std::exchange(greeted_, true) && !master_->plain_address().empty()) {
      Result<std::unique_ptr<ChannelClient>> client =
          ChannelClient::Connect(master_->plain_address(), *environment_, kConnectTimeout);
      if (client.ok()) channel_ = *std::move(client);
    }
    if (channel_ == nullptr || channel_->closed()) return none;
    if (const auto found = callables_.find(key); found != callables_.end()) {
      return std::optional<int64_t>(found->second);
    }
    if (callables_.size() >= kMostCallables) return none;
    for (const auto& [name, value] : feeds) {
      // What is fed and fetched is answered here, and an empty value has an error of its own.
      if (value.empty() || std::find(fetches.begin(), fetches.end(), name) != fetches.end()) {
        return none;
      }
    }
    Message* const options = request->Mutable(pb::MakeCallableRequest::kOptions);
    for (const auto& [name, value] : feeds) options->AddString(Options::kFeed, name);
    for (const std::string& name : fetches) options->AddString(Options::kFetch, name);
    for (const std::string& name : targets) options->AddString(Options::kTarget, name);
    request->SetString(pb::MakeCallableRequest::kSessionHandle, handle);
    Result<std::string> bytes = Serialize(*request);
    if (!bytes.ok()) return none;
    // Whatever else is wrong with it, the call that runs the step says so.
    MasterWatch::Call watched(watch_, calling.cancellation);
    const Result<OwnedMessage> made = master_->CallBytes(
        "MakeCallable", *bytes + channel_->Hello(), pb::MakeCallableResponse::Descriptor(),
        {.timeout = calling.timeout, .cancellation = &watched.cancellation()});
    if (!made.ok() && watched.cancellation().IsCancelled()) {
      return watched.cancellation().Reason().WithContext("MakeCallable on " + master_->target());
    }
    const Code code = made.status().code();
    if (code == Code::kDeadlineExceeded || code == Code::kUnavailable) return made.status();
    if (!made.ok()) return none;
    const int64_t number = (*made)->GetInt(pb::MakeCallableResponse::kHandle);
    callables_.emplace(std::move(key), number);
    return std::optional<int64_t>(number);
  }

  Status RunByChannel(int64_t callable, std::span<const NamedTensor> feeds,
                      std::span<const std::string> fetches, const RunOptions& options,
                      CancellationManager* cancellation, std::vector<Tensor>* outputs,
                      RunMetadata* metadata) {
    std::vector<Tensor> values;
    for (const auto& [name, value] : feeds) {
      if (value.empty()) return InvalidArgument("the value fed to '", name, "' is no tensor");
      values.push_back(value);
    }
    std::vector<Tensor> fetched(fetches.size());
    MasterWatch::Call watched(watch_, cancellation);
    const TraceWish trace = WishOf(options, metadata);
    std::string told;
    const Status status = channel_->Run(callable, values, fetched, TimeoutOf(options),
                                        &watched.cancellation(), trace, &told);
    if (status.code() == Code::kUnavailable &&
        (channel_->closed() || watched.cancellation().IsCancelled())) {
      return status.WithContext("the step of " + master_->target());
    }
    RETURN_IF_ERROR(status);
    if (outputs != nullptr) *outputs = std::move(fetched);
    if (metadata != nullptr) Keep(std::move(told), metadata);
    return OkStatus();
  }

  // Full tracing alone gives statistics.
  static TraceWish WishOf(const RunOptions& options, const RunMetadata* metadata) {
    if (metadata == nullptr) return {};
    return {.times = options.trace == TraceLevel::kFull, .graphs = options.partition_graphs};
  }

  Status Step(const RunOptions& options, std::span<const NamedTensor> feeds,
              std::span<const std::string> fetches, std::span<const std::string> targets,
              const std::string& partial_run, std::vector<Tensor>* outputs, RunMetadata* metadata) {
    namespace Request = pb::RunStepRequest;
    namespace Response = pb::RunStepResponse;
    RETURN_IF_ERROR(options.Validate());
    RETURN_IF_ERROR(CheckNotForked());
    const RpcCallOptions calling = CallOptions(options);
    ASSIGN_OR_RETURN(const std::string handle, SendGraph(calling));
    std::optional<int64_t> callable;
    if (partial_run.empty() && options.collective_graph_key == 0 && !options.check_numerics) {
      ASSIGN_OR_RETURN(callable, ChannelCallable(handle, feeds, fetches, targets, calling));
    }
    if (callable.has_value() && (!WishOf(options, metadata).any() || channel_->knows_traces())) {
      return RunByChannel(*callable, feeds, fetches, options, calling.cancellation, outputs,
                          metadata);
    }
    std::unordered_map<std::string_view, const Tensor*> fed;
    OwnedMessage request(Request::Descriptor());
    request->SetString(Request::kSessionHandle, handle);
    for (const auto& [name, value] : feeds) {
      RETURN_IF_ERROR(FillTensor(name, value, request->Add(Request::kFeed)));
      fed.emplace(name, &value);
    }
    // A server refuses an edge that is fed and fetched: it is answered here.
    for (const std::string& name : fetches) {
      if (!fed.contains(name)) request->AddString(Request::kFetch, name);
    }
    for (const std::string& name : targets) request->AddString(Request::kTarget, name);
    if (!partial_run.empty()) request->SetString(Request::kPartialRunHandle, partial_run);
    Message* const run = request->Mutable(Request::kOptions);
    if (const auto millis =
            std::chrono::ceil<std::chrono::milliseconds>(TimeoutOf(options)).count();
        millis > 0) {
      run->SetInt(pb::RunOptions::kTimeoutInMs, millis);
    }
    if (options.collective_graph_key != 0) {
      run->Mutable(pb::RunOptions::kExperimental)
          ->SetInt(pb::RunOptions::Experimental::kCollectiveGraphKey, options.collective_graph_key);
    }
    if (options.check_numerics) AskForNumericsCheck(run);
    if (metadata != nullptr) {
      run->SetInt(pb::RunOptions::kTraceLevel, static_cast<int64_t>(options.trace));
      run->SetBool(pb::RunOptions::kOutputPartitionGraphs, options.partition_graphs);
    }
    request->SetBool(Request::kStoreErrorsInResponseBody, true);
    request->SetInt(Request::kRequestId, static_cast<int64_t>(RandomSeed() | 1));
    watch_.Greet();
    MasterWatch::Call watched(watch_, calling.cancellation);
    const Result<OwnedMessage> answer =
        master_->Call("RunStep", *request, Response::Descriptor(),
                      {.timeout = calling.timeout, .cancellation = &watched.cancellation()});
    if (!answer.ok() && watched.cancellation().IsCancelled()) {
      return watched.cancellation().Reason().WithContext("RunStep on " + master_->target());
    }
    RETURN_IF_ERROR(answer.status());
    const Message* const response = answer->get();
    if (const int64_t code = response->GetInt(Response::kStatusCode); code != 0) {
      return Status(static_cast<Code>(code),
                    std::string(response->GetString(Response::kStatusErrorMessage)));
    }
    std::unordered_map<std::string_view, Tensor> got;
    for (const Message* named : response->Messages(Response::kTensor)) {
      ASSIGN_OR_RETURN(got[named->GetString(pb::NamedTensorProto::kName)],
                       TensorFromProto(named->GetMessage(pb::NamedTensorProto::kTensor),
                                       {.allocator = environment_->allocator().get()}));
    }
    std::vector<Tensor> values;
    for (const std::string& name : fetches) {
      if (const auto feed = fed.find(name); feed != fed.end()) {
        values.push_back(*feed->second);
      } else if (const auto value = got.find(name); value != got.end()) {
        values.push_back(value->second);
      } else {
        return Internal("the server did not answer the fetch '", name, "'");
      }
    }
    if (outputs != nullptr) *outputs = std::move(values);
    if (metadata == nullptr) return OkStatus();
    ASSIGN_OR_RETURN(std::string told, Serialize(response->GetMessage(Response::kMetadata)));
    Keep(std::move(told), metadata);
    return OkStatus();
  }

  // What the server told of the step, a RunMetadata message: as it is.
  static void Keep(std::string told, RunMetadata* metadata) {
    *metadata = RunMetadata();
    metadata->encoded = std::move(told);
  }

  const std::shared_ptr<Environment> environment_;
  const std::shared_ptr<Graph> graph_;
  const std::shared_ptr<MasterClient> master_;
  const RemoteSessionOptions options_;
  CancellationManager closing_;  // ends calls that wait when the session is closed
  Mutex mutex_;                  // held while the graph is sent
  bool closed_ GUARDED_BY(mutex_) = false;
  std::string handle_ GUARDED_BY(mutex_);
  int64_t version_ GUARDED_BY(mutex_) = 0;
  int sent_nodes_ GUARDED_BY(mutex_) = 0;
  bool greeted_ GUARDED_BY(mutex_) = false;
  std::unordered_map<std::string, int64_t> callables_ GUARDED_BY(mutex_);
  // Set once, under the lock; null: the server makes no channel.
  std::unique_ptr<ChannelClient> channel_;
  Mutex handle_mutex_;  // never held while somebody waits
  std::string shown_handle_ GUARDED_BY(handle_mutex_);
  MasterWatch watch_;  // last: it asks the others
};

// A signature of a session that it keeps alive.
class RemoteCallable : public Callable {
 public:
  RemoteCallable(std::shared_ptr<RemoteSession> session, Signature signature, RunOptions options)
      : session_(std::move(session)), signature_(std::move(signature)), options_(options) {}
  Status Run(std::span<const Tensor> feeds, std::span<Tensor> fetches,
             RunMetadata* metadata) override {
    return Run(options_, feeds, fetches, metadata);
  }
  Status Run(const RunOptions& options, std::span<const Tensor> feeds, std::span<Tensor> fetches,
             RunMetadata* metadata) override {
    return session_->Run(options, signature_, feeds, fetches, metadata);
  }

 private:
  const std::shared_ptr<RemoteSession> session_;
  const Signature signature_;
  const RunOptions options_;
};

// Its first Run sends the graph, and is what the server compiles in.
Result<std::shared_ptr<Callable>> RemoteSession::MakeCallable(const Signature& signature,
                                                              const RunOptions& options,
                                                              const RunOptions*) {
  RETURN_IF_ERROR(options.Validate());
  return std::shared_ptr<Callable>(
      std::make_shared<RemoteCallable>(shared_from_this(), signature, options));
}

}  // namespace

Result<std::shared_ptr<Session>> MakeRemoteSession(std::shared_ptr<Environment> environment,
                                                   std::shared_ptr<Graph> graph,
                                                   const std::string& target,
                                                   RemoteSessionOptions options) {
  if (environment == nullptr || graph == nullptr) {
    return InvalidArgument("a session needs an environment and a graph");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<MasterClient> master, MasterClient::Connect(target));
  // In a fork it stays: its threads are not there to be joined.
  const auto end = [](const RemoteSession* session) {
    if (CheckNotForked().ok()) delete session;
  };
  return std::shared_ptr<Session>(
      std::shared_ptr<RemoteSession>(new RemoteSession(std::move(environment), std::move(graph),
                                                       std::move(master), std::move(options)),
                                     end));
}

Status ResetRemote(const std::string& target, const std::vector<std::string>& containers,
                   std::chrono::nanoseconds timeout) {
  ASSIGN_OR_RETURN(const std::unique_ptr<MasterClient> master, MasterClient::Connect(target));
  // The step that has called this function may be one of those that the server ends.
  if (timeout.count() == 0 && HostCall::IsInside()) timeout = kClosing;
  OwnedMessage request(pb::ResetRequest::Descriptor());
  for (const std::string& name : containers) {
    request->AddString(pb::ResetRequest::kContainer, name);
  }
  return master->Call("Reset", *request, pb::ResetResponse::Descriptor(), {.timeout = timeout})
      .status();
}

Result<std::string> DumpRemote(const std::string& target, std::chrono::nanoseconds timeout) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RpcChannel> channel, ConnectTo(target));
  Result<std::string> answer = channel->Call(std::string(kDumpMethod), "", {.timeout = timeout});
  if (!answer.ok()) return answer.status().WithContext(StrCat("the dump of ", target));
  return answer;
}

}  // namespace thalweg
