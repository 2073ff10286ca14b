// SPDX-License-Identifier: Apache-2.0
// libthalweg_grpc.so: nothing else sees gRPC.
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string>

#include "thalweg/cluster/transport/grpc/grpc_api.h"
#include "thalweg/cluster/transport/grpc/grpc_incoming.h"
#include "thalweg/cluster/transport/grpc/grpc_messages.h"
#include "thalweg/cluster/transport/grpc/grpc_outgoing.h"

namespace thalweg::grpc_component {
namespace {

int MessageLimit(int64_t bytes) {
  return bytes <= 0 || bytes > INT_MAX ? -1 : static_cast<int>(bytes);
}

struct Server {
  explicit Server(const ThalwegGrpcServerOptions& options) : service(options) {}
  Service service;
  std::unique_ptr<grpc::Server> server;
};

std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const ThalwegGrpcTls* tls) {
  if (tls == nullptr) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls->authority;
  options.pem_key_cert_pairs.push_back({tls->key, tls->certificate});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const ThalwegGrpcTls* tls) {
  if (tls == nullptr) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = tls->authority;
  options.pem_private_key = tls->key;
  options.pem_cert_chain = tls->certificate;
  return grpc::SslCredentials(options);
}

ThalwegGrpcServer* ServerStart(const ThalwegGrpcServerOptions* options, int* port,
                               ThalwegGrpcAppend append, void* why) {
  auto made = std::make_unique<Server>(*options);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(MessageLimit(options->max_message_bytes));
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a taken port is an error
  // A client that is stopped or cut off is as good as gone: its calls are cancelled.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 1000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddListeningPort(options->address, ServerCredentials(options->tls), port);
  builder.RegisterCallbackGenericService(&made->service);
  made->server = builder.BuildAndStart();
  if (made->server == nullptr || *port <= 0) {
    const std::string text =
        options->tls == nullptr
            ? "cannot listen there"
            : "cannot listen there, or certificate (--tls-cert) and key (--tls-key) are no pair";
    append(why, text.data(), text.size());
    return nullptr;
  }
  return reinterpret_cast<ThalwegGrpcServer*>(made.release());
}

void ServerStop(ThalwegGrpcServer* handle, int64_t grace_nanos) {
  const std::unique_ptr<Server> server(reinterpret_cast<Server*>(handle));
  server->server->Shutdown(std::chrono::system_clock::now() +
                           std::chrono::duration_cast<std::chrono::system_clock::duration>(
                               std::chrono::nanoseconds(grace_nanos)));
  server->server->Wait();
}

void Answer(ThalwegGrpcIncoming* call, int code, const char* message, size_t message_size,
            const ThalwegGrpcBytes* bytes) {
  reinterpret_cast<Incoming*>(call)->Answer(code, std::string(message, message_size), bytes);
}

void Peer(ThalwegGrpcIncoming* call, ThalwegGrpcAppend append, void* to) {
  const std::string peer = reinterpret_cast<Incoming*>(call)->Peer();
  append(to, peer.data(), peer.size());
}

ThalwegGrpcChannel* ChannelNew(const char* address, int64_t max_message_bytes, int64_t whole_bytes,
                               const ThalwegGrpcTls* tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(MessageLimit(max_message_bytes));
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return reinterpret_cast<ThalwegGrpcChannel*>(new ChannelHandle(
      new Channel{AnyMethod(grpc::CreateCustomChannel(address, ChannelCredentials(tls), arguments)),
                  LimitOr(max_message_bytes, HalfOfMemory()), LimitOr(whole_bytes, kMostWhole)}));
}

void ChannelFree(ThalwegGrpcChannel* channel) { delete reinterpret_cast<ChannelHandle*>(channel); }

using OutgoingHandle = std::shared_ptr<Outgoing>;

ThalwegGrpcOutgoing* Call(ThalwegGrpcChannel* channel, const char* method,
                          const ThalwegGrpcBytes* request, int64_t timeout_nanos,
                          int wait_for_ready, OutgoingDone done, void* arg) {
  const auto call = std::make_shared<Outgoing>(*reinterpret_cast<ChannelHandle*>(channel), method,
                                               timeout_nanos, wait_for_ready != 0, done, arg);
  auto* const held = new OutgoingHandle(call);
  call->Begin(*request);
  return reinterpret_cast<ThalwegGrpcOutgoing*>(held);
}

void Cancel(ThalwegGrpcOutgoing* call) { (*reinterpret_cast<OutgoingHandle*>(call))->Cancel(); }

void OutgoingFree(ThalwegGrpcOutgoing* call) { delete reinterpret_cast<OutgoingHandle*>(call); }

// gRPC's threads for callbacks end with the last server or channel, and that end is not safe while
// they still take something from their queue (1.51 aborts now and then). So one channel that has
// made a call stays for ever, and with it the threads.
void KeepThreads() {
  grpc_init();
  static ThalwegGrpcChannel* const channel = ChannelNew("127.0.0.1:1", 0, 0, nullptr);
  const ThalwegGrpcBytes nothing = {nullptr, 0, nullptr, nullptr};
  OutgoingFree(Call(
      channel, "/none", &nothing, 0, 0,
      [](void*, int, const char*, size_t, const ThalwegGrpcPiece*, size_t) {}, nullptr));
}

}  // namespace
}  // namespace thalweg::grpc_component

extern "C" __attribute__((visibility("default"))) const ThalwegGrpcApi* thalweg_grpc(int version) {
  using namespace thalweg::grpc_component;
  static const ThalwegGrpcApi api = {ServerStart, ServerStop, Answer, Peer,        ChannelNew,
                                     ChannelFree, Call,       Cancel, OutgoingFree};
  // What goes wrong is in the status of a call; gRPC's own lines are for those who ask for them.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
  if (version != THALWEG_GRPC_VERSION) return nullptr;
  static const bool kept = (KeepThreads(), true);
  return kept ? &api : nullptr;
}
