// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/client/remote_session.h"

#include <atomic>
#include <unordered_map>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/base/mutex.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

constexpr std::string_view kScheme = "grpc://";
constexpr std::chrono::seconds kClosing{10};  // for the server to hear that a session is over

// MasterService of one server.
class MasterClient {
 public:
  static Result<std::unique_ptr<MasterClient>> Connect(const std::string& target) {
    if (!IsRemoteTarget(target)) {
      return InvalidArgument("'", target, "' is no server: expected grpc://HOST:PORT");
    }
    ASSIGN_OR_RETURN(std::unique_ptr<RpcChannel> channel,
                     RpcChannel::Connect(target.substr(kScheme.size())));
    return std::make_unique<MasterClient>(target, std::move(channel));
  }
  MasterClient(std::string target, std::unique_ptr<RpcChannel> channel)
      : target_(std::move(target)), channel_(std::move(channel)) {}

  Result<OwnedMessage> Call(const char* method, const Message& request,
                            const MessageDescriptor& response, const RpcCallOptions& options) {
    ASSIGN_OR_RETURN(std::string bytes, Serialize(request));
    Result<std::string> answer =
        channel_->Call(StrCat("/tensorflow.MasterService/", method), std::move(bytes), options);
    if (!answer.ok()) return answer.status().WithContext(StrCat(method, " on ", target_));
    return ParseMessage(response, *std::move(answer));
  }

 private:
  const std::string target_;
  const std::unique_ptr<RpcChannel> channel_;
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
        options_(std::move(options)) {}
  ~RemoteSession() override { RemoteSession::Close(); }

  const std::shared_ptr<Graph>& graph() const override { return graph_; }
  Environment& environment() const override { return *environment_; }

  Status Run(const RunOptions& options, std::span<const NamedTensor> feeds,
             std::span<const std::string> fetches, std::span<const std::string> targets,
             std::vector<Tensor>* outputs, RunMetadata*) override {
    return Step(options, feeds, fetches, targets, "", outputs);
  }

  Status Run(const RunOptions& options, const Signature& signature, std::span<const Tensor> values,
             std::span<Tensor> fetches, RunMetadata*) override {
    std::vector<NamedTensor> feeds;
    for (size_t i = 0; i < values.size(); ++i) {
      feeds.emplace_back(signature.feeds[i].ToString(), values[i]);
    }
    std::vector<std::string> fetch_names;
    for (const Output& fetch : signature.fetches) fetch_names.push_back(fetch.ToString());
    std::vector<std::string> target_names;
    for (const Node* target : signature.targets) target_names.push_back(target->name());
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(Step(options, feeds, fetch_names, target_names, "", &outputs));
    std::move(outputs.begin(), outputs.end(), fetches.begin());
    return OkStatus();
  }

  Result<std::shared_ptr<Callable>> MakeCallable(const Signature& signature,
                                                 const RunOptions& options) override;

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
    return Step({}, feeds, fetches, {}, handle, outputs);
  }
  void EndPartialRun(const std::string&) override {}  // the server ends it with the session

  std::vector<DeviceDescription> ListDevices() const override {
    namespace Attributes = pb::DeviceAttributes;
    std::vector<DeviceDescription> devices;
    const RpcCallOptions options = {.timeout = options_.timeout};
    const Result<std::string> handle = const_cast<RemoteSession*>(this)->SendGraph(options);
    if (!handle.ok()) return devices;
    OwnedMessage request(pb::ListDevicesRequest::Descriptor());
    request->SetString(pb::ListDevicesRequest::kSessionHandle, *handle);
    const Result<OwnedMessage> response =
        master_->Call("ListDevices", *request, pb::ListDevicesResponse::Descriptor(), options);
    if (!response.ok()) return devices;
    for (const int field :
         {pb::ListDevicesResponse::kLocalDevice, pb::ListDevicesResponse::kRemoteDevice}) {
      for (const Message* device : (*response)->Messages(field)) {
        devices.push_back({.name = std::string(device->GetString(Attributes::kName)),
                           .type = std::string(device->GetString(Attributes::kDeviceType)),
                           .memory_limit = device->GetInt(Attributes::kMemoryLimit),
                           .incarnation = device->GetUint(Attributes::kIncarnation)});
      }
    }
    return devices;
  }
  Result<std::string> ExplainPlacement(std::string_view) override {
    return Unimplemented("the server places the nodes, and does not say why");
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
    std::string handle;
    {
      MutexLock lock(mutex_);
      if (std::exchange(closed_, true)) return;
      handle = handle_;
    }
    closing_.Cancel(Cancelled("Session has been closed."));
    if (handle.empty()) return;
    OwnedMessage request(pb::CloseSessionRequest::Descriptor());
    request->SetString(pb::CloseSessionRequest::kSessionHandle, handle);
    master_
        ->Call("CloseSession", *request, pb::CloseSessionResponse::Descriptor(),
               {.timeout = kClosing})
        .status()
        .IgnoreError();
  }

 private:
  RpcCallOptions CallOptions(const RunOptions& options) {
    return {.timeout = options.timeout.count() > 0 ? options.timeout : options_.timeout,
            .cancellation = options.cancellation != nullptr ? options.cancellation : &closing_};
  }

  // The session's handle, once the server has all nodes that are there now.
  Result<std::string> SendGraph(const RpcCallOptions& options) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return Cancelled("Session has been closed.");
    if (!handle_.empty() && graph_->num_nodes() == sent_nodes_) return handle_;
    ASSIGN_OR_RETURN(OwnedMessage def, ExportGraphDef(*graph_, {.for_1_15 = true}));
    const auto nodes = static_cast<int>(def->Size(pb::GraphDef::kNode));
    if (handle_.empty()) {
      namespace Request = pb::CreateSessionRequest;
      OwnedMessage request(Request::Descriptor());
      request->Mutable(Request::kGraphDef)->CopyFrom(*def);
      RETURN_IF_ERROR(MergeFromBytes(*request->Mutable(Request::kConfig), options_.config));
      ASSIGN_OR_RETURN(const OwnedMessage response,
                       master_->Call("CreateSession", *request,
                                     pb::CreateSessionResponse::Descriptor(), options));
      handle_ = response->GetString(pb::CreateSessionResponse::kSessionHandle);
    } else {
      namespace Request = pb::ExtendSessionRequest;
      def->Erase(pb::GraphDef::kNode, 0, static_cast<size_t>(sent_nodes_));
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

  Status Step(const RunOptions& options, std::span<const NamedTensor> feeds,
              std::span<const std::string> fetches, std::span<const std::string> targets,
              const std::string& partial_run, std::vector<Tensor>* outputs) {
    namespace Request = pb::RunStepRequest;
    namespace Response = pb::RunStepResponse;
    RETURN_IF_ERROR(options.Validate());
    const RpcCallOptions calling = CallOptions(options);
    ASSIGN_OR_RETURN(const std::string handle, SendGraph(calling));
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
    if (const auto millis = std::chrono::ceil<std::chrono::milliseconds>(calling.timeout).count();
        millis > 0) {
      run->SetInt(pb::RunOptions::kTimeoutInMs, millis);
    }
    request->SetBool(Request::kStoreErrorsInResponseBody, true);
    request->SetInt(Request::kRequestId, static_cast<int64_t>(RandomSeed() | 1));
    ASSIGN_OR_RETURN(const OwnedMessage response,
                     master_->Call("RunStep", *request, Response::Descriptor(), calling));
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
    return OkStatus();
  }

  const std::shared_ptr<Environment> environment_;
  const std::shared_ptr<Graph> graph_;
  const std::unique_ptr<MasterClient> master_;
  const RemoteSessionOptions options_;
  CancellationManager closing_;  // ends calls that wait when the session is closed
  Mutex mutex_;                  // held while the graph is sent
  bool closed_ GUARDED_BY(mutex_) = false;
  std::string handle_ GUARDED_BY(mutex_);
  int64_t version_ GUARDED_BY(mutex_) = 0;
  int sent_nodes_ GUARDED_BY(mutex_) = 0;
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

Result<std::shared_ptr<Callable>> RemoteSession::MakeCallable(const Signature& signature,
                                                              const RunOptions& options) {
  RETURN_IF_ERROR(options.Validate());
  return std::shared_ptr<Callable>(
      std::make_shared<RemoteCallable>(shared_from_this(), signature, options));
}

}  // namespace

bool IsRemoteTarget(std::string_view target) { return target.starts_with(kScheme); }

Result<std::shared_ptr<Session>> MakeRemoteSession(std::shared_ptr<Environment> environment,
                                                   std::shared_ptr<Graph> graph,
                                                   const std::string& target,
                                                   RemoteSessionOptions options) {
  if (environment == nullptr || graph == nullptr) {
    return InvalidArgument("a session needs an environment and a graph");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<MasterClient> master, MasterClient::Connect(target));
  return std::shared_ptr<Session>(std::make_shared<RemoteSession>(
      std::move(environment), std::move(graph), std::move(master), std::move(options)));
}

Status ResetRemote(const std::string& target, const std::vector<std::string>& containers,
                   std::chrono::nanoseconds timeout) {
  ASSIGN_OR_RETURN(const std::unique_ptr<MasterClient> master, MasterClient::Connect(target));
  OwnedMessage request(pb::ResetRequest::Descriptor());
  for (const std::string& name : containers) {
    request->AddString(pb::ResetRequest::kContainer, name);
  }
  return master->Call("Reset", *request, pb::ResetResponse::Descriptor(), {.timeout = timeout})
      .status();
}

}  // namespace thalweg
