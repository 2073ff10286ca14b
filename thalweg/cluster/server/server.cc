// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/server/server.h"

#include <utility>

#include "thalweg/cluster/master/cluster_session.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

// How long calls that are open at a stop may still take.
constexpr std::chrono::milliseconds kGrace{500};

// "/tensorflow.MasterService/RunStep" -> "MasterService", "RunStep". Old releases say
// "tensorflow.grpc.MasterService".
struct MethodName {
  std::string_view service;
  std::string_view method;
};
MethodName Split(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (!path.starts_with('/') || slash == 0 || slash == std::string_view::npos) return {};
  std::string_view service = path.substr(1, slash - 1);
  for (const std::string_view package : {"tensorflow.grpc.", "tensorflow."}) {
    if (!service.starts_with(package)) continue;
    service.remove_prefix(package.size());
    return {service, path.substr(slash + 1)};
  }
  return {};
}

}  // namespace

Server::Server(Token, ServerOptions options, std::shared_ptr<Environment> environment)
    : options_(std::move(options)),
      environment_(std::move(environment)),
      peers_(options_.cluster, TaskName(options_.job, options_.task)),
      worker_(environment_, peers_),
      master_(environment_,
              [this](std::shared_ptr<Graph> graph, const Message& config) {
                return MakeSession(std::move(graph), config);
              }),
      threads_(options_.max_waiting_calls) {}

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options, Registries registries) {
  if (options.cluster.empty()) {
    RETURN_IF_ERROR(options.cluster.Add(options.job, options.task, "127.0.0.1:0"));
  }
  RETURN_IF_ERROR(options.cluster.Address(options.job, options.task).status());
  options.environment.job = options.job;
  options.environment.task = options.task;
  ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment,
                   Environment::Create(options.environment, std::move(registries)));
  auto server = std::make_unique<Server>(Token(), std::move(options), std::move(environment));
  RETURN_IF_ERROR(server->Listen());
  return server;
}

Status Server::Listen() {
  ASSIGN_OR_RETURN(const std::string address,
                   options_.cluster.Address(options_.job, options_.task));
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  if (!IsLoopback(where.host) && !options_.insecure) {
    return InvalidArgument("task ", options_.job, ":", options_.task, " is to listen on ", address,
                           ", which other machines reach, and nothing protects it there: give a "
                           "loopback address, or say insecure where the network is trusted");
  }
  // A name may stand for several addresses; loopback is the one that is meant.
  const std::string host = IsLoopback(where.host) ? "127.0.0.1" : where.host;
  ASSIGN_OR_RETURN(rpc_, RpcServer::Start({.address = StrCat(host, ":", where.port),
                                           .max_message_bytes = options_.max_message_bytes},
                                          [this](std::shared_ptr<IncomingCall> call) {
                                            Handle(std::move(call));
                                          }));
  target_ = StrCat("grpc://", where.port == 0 ? host : where.host, ":", rpc_->port());
  return OkStatus();
}

void Server::Stop() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  master_.CloseAll();
  worker_.Stop(Cancelled("the server of ", peers_.self(), " is stopping"));
  if (rpc_ != nullptr) rpc_->Stop(kGrace);
  master_.CloseAll();  // what was made meanwhile
  worker_.Stop(Cancelled("the server of ", peers_.self(), " has stopped"));
  stopped_.Notify();
}

void Server::Handle(std::shared_ptr<IncomingCall> call) {
  const MethodName name = Split(call->method());
  if (name.service == "WorkerService" && !Worker::Blocks(name.method)) return Answer(call);
  const Status status = threads_.Run([this, call] { Answer(call); });
  if (!status.ok()) call->Answer(status);
}

void Server::Answer(const std::shared_ptr<IncomingCall>& call) {
  const MethodName name = Split(call->method());
  if (name.service == "MasterService") return call->Answer(AnswerMaster(name.method, *call));
  if (name.service == "WorkerService") return AnswerWorker(name.method, call);
  call->Answer(Unimplemented("this server has no service for ", call->method()));
}

Result<std::string> Server::AnswerMaster(std::string_view method, IncomingCall& call) {
  const MessageDescriptor* const type = Master::RequestType(method);
  if (type == nullptr) return Unimplemented("the master has no method ", method);
  const Result<OwnedMessage> request = ParseMessage(*type, call.request(), {.borrow = true});
  if (!request.ok()) {
    return Internal("the request of ", method, " cannot be read: ", request.status().message());
  }
  ASSIGN_OR_RETURN(const OwnedMessage response,
                   master_.Call(method, **request, {&call.cancellation(), call.timeout()}));
  return Serialize(*response);
}

void Server::AnswerWorker(std::string_view method, const std::shared_ptr<IncomingCall>& call) {
  const MessageDescriptor* const type = Worker::RequestType(method);
  if (type == nullptr) {
    return call->Answer(Unimplemented("the worker has no method ", method));
  }
  const Result<OwnedMessage> request = ParseMessage(*type, call->request(), {.borrow = true});
  if (!request.ok()) {
    return call->Answer(
        Internal("the request of ", method, " cannot be read: ", request.status().message()));
  }
  worker_.Call(method, **request, {&call->cancellation(), call->timeout()},
               [call](Result<OwnedMessage> response) {
                 if (!response.ok()) return call->Answer(response.status());
                 call->Answer(Serialize(**response));
               });
}

Result<std::unique_ptr<Session>> Server::MakeSession(std::shared_ptr<Graph> graph,
                                                     const Message& config) {
  namespace Config = pb::ConfigProto;
  ClusterSessionOptions options;
  options.session.soft_placement = config.GetBool(Config::kAllowSoftPlacement);
  options.session.log_placement = config.GetBool(Config::kLogDevicePlacement);
  options.session.share_resources = !config.GetBool(Config::kIsolateSessionState);
  if (peers_.Others().empty()) {
    return MakeLocalSession(environment_, std::move(graph), options.session);
  }
  if (const int64_t millis = config.GetInt(Config::kOperationTimeoutInMs); millis > 0) {
    options.join_timeout = std::chrono::milliseconds(std::min<int64_t>(millis, 60'000));
  }
  for (const std::string_view filter : config.Repeated<std::string_view>(Config::kDeviceFilters)) {
    options.device_filters.emplace_back(filter);
  }
  return MakeClusterSession(environment_, peers_, worker_.steps(), std::move(graph), options);
}

}  // namespace thalweg
