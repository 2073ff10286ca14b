// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/server/server.h"

#include <utility>

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
  if (rpc_ != nullptr) rpc_->Stop(kGrace);
  master_.CloseAll();  // one that was made meanwhile
  stopped_.Notify();
}

void Server::Handle(std::shared_ptr<IncomingCall> call) {
  const Status status = threads_.Run([this, call] { call->Answer(Answer(*call)); });
  if (!status.ok()) call->Answer(status);
}

Result<std::string> Server::Answer(IncomingCall& call) {
  const MethodName name = Split(call.method());
  if (name.service == "MasterService") return AnswerMaster(name.method, call);
  if (name.service == "WorkerService") return AnswerWorker(name.method, call);
  return Unimplemented("this server has no service for ", call.method());
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

Result<std::string> Server::AnswerWorker(std::string_view method, IncomingCall&) {
  return Unimplemented("the worker has no method ", method);
}

Result<std::unique_ptr<Session>> Server::MakeSession(std::shared_ptr<Graph> graph,
                                                     const Message& config) {
  SessionOptions options;
  options.soft_placement = config.GetBool(pb::ConfigProto::kAllowSoftPlacement);
  options.log_placement = config.GetBool(pb::ConfigProto::kLogDevicePlacement);
  options.share_resources = !config.GetBool(pb::ConfigProto::kIsolateSessionState);
  return MakeLocalSession(environment_, std::move(graph), options);
}

}  // namespace thalweg
