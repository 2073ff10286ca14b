// SPDX-License-Identifier: Apache-2.0
// The only file that sees gRPC. Every method of every service comes to one handler; bytes travel as
// slices, so that tensors are not copied.
#include <grpc/support/log.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/cluster/transport/grpc/grpc_api.h"

namespace {

using std::chrono::nanoseconds;
using std::chrono::system_clock;

// Slices of a buffer as pieces; both live as long as this.
class Pieces {
 public:
  bool Fill(const grpc::ByteBuffer& buffer) {
    if (!buffer.Valid()) return true;  // an empty message
    if (!buffer.Dump(&slices_).ok()) return false;
    for (const grpc::Slice& slice : slices_) {
      pieces_.push_back({reinterpret_cast<const char*>(slice.begin()), slice.size()});
    }
    return true;
  }
  const ThalwegGrpcPiece* data() const { return pieces_.data(); }
  size_t size() const { return pieces_.size(); }

 private:
  std::vector<grpc::Slice> slices_;
  std::vector<ThalwegGrpcPiece> pieces_;
};

// Calls the release of some bytes when its last slice has gone.
struct Release {
  std::atomic<size_t> left;
  void (*release)(void*);
  void* owner;
  static void Drop(void* self) {
    auto* r = static_cast<Release*>(self);
    if (r->left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    r->release(r->owner);
    delete r;
  }
};

grpc::ByteBuffer BufferOf(const ThalwegGrpcBytes& bytes) {
  std::vector<grpc::Slice> slices;
  slices.reserve(bytes.count);
  if (bytes.release == nullptr || bytes.count == 0) {
    for (size_t i = 0; i < bytes.count; ++i) {
      slices.emplace_back(bytes.pieces[i].data, bytes.pieces[i].size);
    }
    if (bytes.release != nullptr) bytes.release(bytes.owner);
  } else {
    auto* release = new Release{{bytes.count}, bytes.release, bytes.owner};
    for (size_t i = 0; i < bytes.count; ++i) {
      slices.emplace_back(const_cast<char*>(bytes.pieces[i].data), bytes.pieces[i].size,
                          &Release::Drop, release);
    }
  }
  return {slices.data(), slices.size()};
}

int MessageLimit(int64_t bytes) {
  return bytes <= 0 || bytes > INT_MAX ? -1 : static_cast<int>(bytes);
}

class Incoming : public grpc::ServerGenericBidiReactor {
 public:
  Incoming(const ThalwegGrpcHandler& handler, grpc::GenericCallbackServerContext* context)
      : handler_(handler),
        context_(context),
        method_(context->method()),
        deadline_(context->deadline()) {
    state_ = handler_.begin(handler_.self, AsHandle());
    if (state_ == nullptr) {
      Finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls are open"));
    } else {
      StartRead(&request_);
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status(grpc::StatusCode::INTERNAL, "the call has no request"));
      return;
    }
    if (!pieces_.Fill(request_)) {
      Finish(grpc::Status(grpc::StatusCode::INTERNAL, "the request cannot be unpacked"));
      return;
    }
    int64_t left = -1;
    if (deadline_ != system_clock::time_point::max()) {
      left = std::max<int64_t>(
          0, std::chrono::duration_cast<nanoseconds>(deadline_ - system_clock::now()).count());
    }
    handler_.request(state_, method_.data(), method_.size(), pieces_.data(), pieces_.size(), left);
  }
  void OnCancel() override {
    if (state_ != nullptr) handler_.cancelled(state_);
  }
  void OnDone() override {
    if (state_ != nullptr) handler_.end(state_);
    delete this;
  }

  std::string Peer() const { return context_->peer(); }
  void Answer(int code, std::string message, const ThalwegGrpcBytes* bytes) {
    if (code != 0) {
      Finish(grpc::Status(static_cast<grpc::StatusCode>(code), message));
      return;
    }
    response_ = BufferOf(*bytes);
    StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
  }

 private:
  ThalwegGrpcIncoming* AsHandle() { return reinterpret_cast<ThalwegGrpcIncoming*>(this); }

  const ThalwegGrpcHandler handler_;
  grpc::GenericCallbackServerContext* const context_;  // until OnDone
  const std::string method_;
  const system_clock::time_point deadline_;
  void* state_ = nullptr;
  grpc::ByteBuffer request_;
  Pieces pieces_;
  grpc::ByteBuffer response_;
};

class Service : public grpc::CallbackGenericService {
 public:
  explicit Service(const ThalwegGrpcHandler& handler) : handler_(handler) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Incoming(handler_, context);
  }

 private:
  const ThalwegGrpcHandler handler_;
};

struct Server {
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
  auto made = std::make_unique<Server>(Server{Service(options->handler), nullptr});
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
  server->server->Shutdown(system_clock::now() + std::chrono::duration_cast<system_clock::duration>(
                                                     nanoseconds(grace_nanos)));
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

struct Channel {
  explicit Channel(std::shared_ptr<grpc::Channel> channel) : stub(std::move(channel)) {}
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub;
};

ThalwegGrpcChannel* ChannelNew(const char* address, int64_t max_message_bytes,
                               const ThalwegGrpcTls* tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(MessageLimit(max_message_bytes));
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return reinterpret_cast<ThalwegGrpcChannel*>(
      new Channel(grpc::CreateCustomChannel(address, ChannelCredentials(tls), arguments)));
}

void ChannelFree(ThalwegGrpcChannel* channel) { delete reinterpret_cast<Channel*>(channel); }

// Held by the handle and by gRPC until its answer.
struct Outgoing {
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
};
using OutgoingHandle = std::shared_ptr<Outgoing>;

ThalwegGrpcOutgoing* Call(ThalwegGrpcChannel* channel, const char* method,
                          const ThalwegGrpcBytes* request, int64_t timeout_nanos,
                          int wait_for_ready,
                          void (*done)(void* arg, int code, const char* message,
                                       size_t message_size, const ThalwegGrpcPiece* pieces,
                                       size_t count),
                          void* arg) {
  const OutgoingHandle call = std::make_shared<Outgoing>();
  call->request = BufferOf(*request);
  call->context.set_wait_for_ready(wait_for_ready != 0);
  if (timeout_nanos >= 0) {
    call->context.set_deadline(
        system_clock::now() +
        std::chrono::duration_cast<system_clock::duration>(nanoseconds(timeout_nanos)));
  }
  auto* handle = new OutgoingHandle(call);
  reinterpret_cast<Channel*>(channel)->stub.UnaryCall(
      &call->context, method, grpc::StubOptions(), &call->request, &call->response,
      [call, done, arg](grpc::Status status) {
        Pieces pieces;
        if (status.ok() && !pieces.Fill(call->response)) {
          status = grpc::Status(grpc::StatusCode::INTERNAL, "the answer cannot be unpacked");
        }
        const std::string message = status.error_message();
        done(arg, status.error_code(), message.data(), message.size(), pieces.data(),
             pieces.size());
      });
  return reinterpret_cast<ThalwegGrpcOutgoing*>(handle);
}

void Cancel(ThalwegGrpcOutgoing* call) {
  (*reinterpret_cast<OutgoingHandle*>(call))->context.TryCancel();
}

void OutgoingFree(ThalwegGrpcOutgoing* call) { delete reinterpret_cast<OutgoingHandle*>(call); }

// gRPC's threads for callbacks end with the last server or channel, and that end is not safe while
// they still take something from their queue (1.51 aborts now and then). So one channel that has
// made a call stays for ever, and with it the threads.
void KeepThreads() {
  grpc_init();
  static ThalwegGrpcChannel* const channel = ChannelNew("127.0.0.1:1", 0, nullptr);
  const ThalwegGrpcBytes nothing = {nullptr, 0, nullptr, nullptr};
  OutgoingFree(Call(
      channel, "/none", &nothing, 0, 0,
      [](void*, int, const char*, size_t, const ThalwegGrpcPiece*, size_t) {}, nullptr));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ThalwegGrpcApi* thalweg_grpc(int version) {
  static const ThalwegGrpcApi api = {ServerStart, ServerStop, Answer, Peer,        ChannelNew,
                                     ChannelFree, Call,       Cancel, OutgoingFree};
  // What goes wrong is in the status of a call; gRPC's own lines are for those who ask for them.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
  if (version != THALWEG_GRPC_VERSION) return nullptr;
  static const bool kept = (KeepThreads(), true);
  return kept ? &api : nullptr;
}
