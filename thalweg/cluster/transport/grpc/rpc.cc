// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/grpc/rpc.h"

#include <unistd.h>

#include <atomic>
#include <new>
#include <optional>
#include <utility>

#include "thalweg/base/component.h"
#include "thalweg/base/notification.h"
#include "thalweg/cluster/transport/grpc/grpc_api.h"

namespace thalweg {

// gRPC's threads stay in the process that started it: nothing would ever be answered in a fork.
Status CheckNotForked() {
  static const pid_t started_in = getpid();
  if (getpid() == started_in) return OkStatus();
  return FailedPrecondition(
      "process ", getpid(), " was forked from process ", started_in,
      " after that had used a server or a session of one; their threads and connections are not "
      "here: fork before, or start the process anew (multiprocessing's \"spawn\")");
}

namespace {

using std::chrono::nanoseconds;

Result<const ThalwegGrpcApi*> Grpc() {
  RETURN_IF_ERROR(CheckNotForked());
  static const ThalwegGrpcApi* const api = [] {
    const auto entry =
        reinterpret_cast<ThalwegGrpcEntry>(FindComponent("libthalweg_grpc.so", "thalweg_grpc"));
    return entry == nullptr ? nullptr : entry(THALWEG_GRPC_VERSION);
  }();
  if (api == nullptr) {
    return FailedPrecondition(
        "servers and remote sessions need the component libthalweg_grpc.so beside the library; it "
        "is not there (it is built where gRPC's headers are installed)");
  }
  return api;
}

Result<std::string> Join(const ThalwegGrpcPiece* pieces, size_t count) {
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) size += pieces[i].size;
  std::string joined;
  try {
    joined.reserve(size);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory for a message of ", size, " bytes");
  }
  for (size_t i = 0; i < count; ++i) joined.append(pieces[i].data, pieces[i].size);
  return joined;
}

// Lives as long as the texts.
ThalwegGrpcTls TlsOf(const TlsTexts& texts) {
  return {texts.certificate.c_str(), texts.key.c_str(), texts.authority.c_str()};
}

// Hands a string over without a copy.
template <class F>
void WithBytes(std::string text, F&& send) {
  auto* const owned = new std::string(std::move(text));
  const ThalwegGrpcPiece piece{owned->data(), owned->size()};
  const ThalwegGrpcBytes bytes{&piece, 1, [](void* p) { delete static_cast<std::string*>(p); },
                               owned};
  send(bytes);
}

// `peer` is "ipv4:10.0.0.5:40000" or "ipv6:[::1]:40000", whose brackets may be escaped.
std::string HostOfPeer(std::string_view peer) {
  const size_t port = peer.rfind(':');
  if (!(peer.starts_with("ipv4:") || peer.starts_with("ipv6:")) || port < 5) return "";
  std::string_view host = peer.substr(5, port - 5);
  for (const std::string_view bracket : {"[", "%5B"}) {
    if (host.starts_with(bracket)) host.remove_prefix(bracket.size());
  }
  for (const std::string_view bracket : {"]", "%5D"}) {
    if (host.ends_with(bracket)) host.remove_suffix(bracket.size());
  }
  return std::string(host);
}

class GrpcServer;

class GrpcIncoming : public IncomingCall, public std::enable_shared_from_this<GrpcIncoming> {
 public:
  GrpcIncoming(const ThalwegGrpcApi& api, ThalwegGrpcIncoming* call) : api_(api), call_(call) {}
  ~GrpcIncoming() override = default;

  std::string_view method() const override { return method_; }
  const std::string& request() const override { return request_; }
  nanoseconds timeout() const override { return timeout_; }
  CancellationManager& cancellation() override { return cancellation_; }
  std::string peer_host() const override {
    std::string peer;
    api_.peer(call_, ThalwegAppendText, &peer);
    return HostOfPeer(peer);
  }

  void Receive(std::string method, std::string request, int64_t nanos_left) {
    method_ = std::move(method);
    request_ = std::move(request);
    // A deadline that has passed still is one.
    timeout_ = nanoseconds(nanos_left < 0 ? 0 : std::max<int64_t>(nanos_left, 1));
  }

  void Answer(Result<std::string> response) override {
    if (answered_.exchange(true)) return;
    if (response.ok()) {
      WithBytes(*std::move(response),
                [&](const ThalwegGrpcBytes& bytes) { api_.answer(call_, 0, "", 0, &bytes); });
      return;
    }
    // The message goes in a header, of which clients take 8 KB in all.
    constexpr size_t kMostText = 4096;
    const Status status = response.status();
    const std::string text(status.message().substr(0, kMostText));
    api_.answer(call_, static_cast<int>(status.code()), text.data(), text.size(), nullptr);
  }

 private:
  const ThalwegGrpcApi& api_;
  ThalwegGrpcIncoming* const call_;
  std::string method_;
  std::string request_;
  nanoseconds timeout_{0};
  CancellationManager cancellation_;
  std::atomic<bool> answered_{false};
};

// What the handler gets: answers when it is dropped.
class AnsweringCall : public IncomingCall {
 public:
  explicit AnsweringCall(std::shared_ptr<GrpcIncoming> call) : call_(std::move(call)) {}
  ~AnsweringCall() override { call_->Answer(Internal("the server dropped the call")); }
  std::string_view method() const override { return call_->method(); }
  const std::string& request() const override { return call_->request(); }
  nanoseconds timeout() const override { return call_->timeout(); }
  CancellationManager& cancellation() override { return call_->cancellation(); }
  std::string peer_host() const override { return call_->peer_host(); }
  void Answer(Result<std::string> response) override { call_->Answer(std::move(response)); }

 private:
  const std::shared_ptr<GrpcIncoming> call_;
};

class GrpcServer : public RpcServer {
 public:
  GrpcServer(const ThalwegGrpcApi& api, const RpcServerOptions& options, Handler handler)
      : api_(api), max_open_calls_(options.max_open_calls), handler_(std::move(handler)) {}
  ~GrpcServer() override { Stop(nanoseconds(0)); }

  Status Start(const RpcServerOptions& options) {
    const ThalwegGrpcTls tls = TlsOf(options.tls);
    const ThalwegGrpcServerOptions wanted = {options.address.c_str(),
                                             options.max_message_bytes,
                                             options.whole_bytes,
                                             options.tls.empty() ? nullptr : &tls,
                                             {this, &Begin, &Request, &CancelCall, &End}};
    std::string why;
    server_ = api_.server_start(&wanted, &port_, ThalwegAppendText, &why);
    if (server_ != nullptr) return OkStatus();
    return Unavailable("a server cannot listen on ", options.address, ": ", why,
                       "; is the port taken, or the address not of this machine?");
  }

  int port() const override { return port_; }
  void Stop(nanoseconds grace) override {
    ThalwegGrpcServer* const server = server_.exchange(nullptr);
    if (server != nullptr) api_.server_stop(server, grace.count());
  }

 private:
  // The state of a call is a std::shared_ptr<GrpcIncoming> on the heap.
  struct Held {
    GrpcServer* server;
    std::shared_ptr<GrpcIncoming> call;
  };
  static void* Begin(void* self, ThalwegGrpcIncoming* call) {
    auto* const server = static_cast<GrpcServer*>(self);
    if (server->open_calls_.fetch_add(1) >= server->max_open_calls_) {
      server->open_calls_.fetch_sub(1);
      return nullptr;
    }
    return new Held{server, std::make_shared<GrpcIncoming>(server->api_, call)};
  }
  static void Request(void* state, const char* method, size_t method_size,
                      const ThalwegGrpcPiece* pieces, size_t count, int64_t nanos_left) {
    const auto* const held = static_cast<Held*>(state);
    Result<std::string> request = Join(pieces, count);
    if (!request.ok()) return held->call->Answer(request.status());
    held->call->Receive({method, method_size}, *std::move(request), nanos_left);
    held->server->handler_(std::make_shared<AnsweringCall>(held->call));
  }
  static void CancelCall(void* state) {
    static_cast<Held*>(state)->call->cancellation().Cancel(
        Cancelled("the caller has cancelled its call, or its deadline has passed"));
  }
  static void End(void* state) {
    const std::unique_ptr<Held> held(static_cast<Held*>(state));
    held->server->open_calls_.fetch_sub(1);
  }

  const ThalwegGrpcApi& api_;
  const int64_t max_open_calls_;
  const Handler handler_;
  std::atomic<int64_t> open_calls_{0};
  std::atomic<ThalwegGrpcServer*> server_{nullptr};
  int port_ = 0;
};

class GrpcChannel : public RpcChannel {
 public:
  GrpcChannel(const ThalwegGrpcApi& api, bool uses_tls, ThalwegGrpcChannel* channel)
      : api_(api), uses_tls_(uses_tls), channel_(channel) {}
  ~GrpcChannel() override { api_.channel_free(channel_); }
  using RpcChannel::Call;

  void Call(const std::string& method, std::string request, const RpcCallOptions& options,
            Done done) override {
    if (Status status = CheckNotForked(); !status.ok()) return done(std::move(status));
    const auto call =
        std::make_shared<Outgoing>(api_, uses_tls_, std::move(done), options.cancellation);
    auto* const held = new std::shared_ptr<Outgoing>(call);
    WithBytes(std::move(request), [&](const ThalwegGrpcBytes& bytes) {
      call->Begin(api_.call(channel_, method.c_str(), &bytes,
                            options.timeout.count() == 0 ? -1 : options.timeout.count(),
                            options.wait_for_ready ? 1 : 0, &Finish, held));
    });
  }

 private:
  // A call on its way: `done` runs in Finish, a cancel from elsewhere reaches gRPC.
  class Outgoing {
   public:
    Outgoing(const ThalwegGrpcApi& api, bool uses_tls, Done done, CancellationManager* cancellation)
        : api_(api), uses_tls_(uses_tls), done_(std::move(done)), cancellation_(cancellation) {}
    bool uses_tls() const { return uses_tls_; }
    ~Outgoing() {
      if (call_ != nullptr) api_.outgoing_free(call_);
    }

    void Begin(ThalwegGrpcOutgoing* call) EXCLUDES(mutex_) {
      call_ = call;
      MutexLock lock(mutex_);
      if (!over_) outside_.emplace(cancellation_, [this](const Status&) { api_.cancel(call_); });
    }
    void End(Result<std::string> result) EXCLUDES(mutex_) {
      {
        MutexLock lock(mutex_);
        over_ = true;
        if (outside_.has_value()) outside_->End();  // whoever cancels may be gone after done_
      }
      done_(std::move(result));
    }

   private:
    const ThalwegGrpcApi& api_;
    const bool uses_tls_;
    const Done done_;
    CancellationManager* const cancellation_;
    ThalwegGrpcOutgoing* call_ = nullptr;
    Mutex mutex_;
    bool over_ GUARDED_BY(mutex_) = false;
    std::optional<ScopedCancellation> outside_ GUARDED_BY(mutex_);
  };

  static void Finish(void* arg, int code, const char* message, size_t message_size,
                     const ThalwegGrpcPiece* pieces, size_t count) {
    const std::unique_ptr<std::shared_ptr<Outgoing>> held(
        static_cast<std::shared_ptr<Outgoing>*>(arg));
    if (code == 0) {
      (*held)->End(Join(pieces, count));
    } else {
      const std::string_view text(message, message_size);
      (*held)->End(
          Status(static_cast<Code>(code), StrCat(text, FailureHint((*held)->uses_tls(), text))));
    }
  }

  const ThalwegGrpcApi& api_;
  const bool uses_tls_;
  ThalwegGrpcChannel* const channel_;
};

}  // namespace

Result<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcServerOptions& options,
                                                    Handler handler) {
  ASSIGN_OR_RETURN(const ThalwegGrpcApi* api, Grpc());
  auto server = std::make_unique<GrpcServer>(*api, options, std::move(handler));
  RETURN_IF_ERROR(server->Start(options));
  return std::unique_ptr<RpcServer>(std::move(server));
}

Result<std::unique_ptr<RpcChannel>> RpcChannel::Connect(const std::string& address,
                                                        const RpcChannelOptions& options) {
  ASSIGN_OR_RETURN(const ThalwegGrpcApi* api, Grpc());
  const ThalwegGrpcTls tls = TlsOf(options.tls);
  return std::unique_ptr<RpcChannel>(std::make_unique<GrpcChannel>(
      *api, !options.tls.empty(),
      api->channel_new(address.c_str(), options.max_message_bytes, options.whole_bytes,
                       options.tls.empty() ? nullptr : &tls)));
}

Result<std::string> RpcChannel::Call(const std::string& method, std::string request,
                                     const RpcCallOptions& options) {
  Notification ended;
  Result<std::string> result = Internal("no answer");
  Call(method, std::move(request), options, [&](Result<std::string> got) {
    result = std::move(got);
    ended.Notify();
  });
  ended.Wait();
  return result;
}

}  // namespace thalweg
