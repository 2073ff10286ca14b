// SPDX-License-Identifier: Apache-2.0
// RpcServer and RpcChannel: unary calls over gRPC, of any method, as bytes. gRPC itself is a
// component (grpc_api.h) that is opened when the first of them is made.
//
//   ASSIGN_OR_RETURN(auto server, RpcServer::Start({.address = "127.0.0.1:0"}, [](auto call) {
//     call->Answer(Handle(call->method(), call->request()));
//   }));
//   ASSIGN_OR_RETURN(auto channel, RpcChannel::Connect(StrCat("127.0.0.1:", server->port())));
//   channel->Call("/package.Service/Method", bytes, {.timeout = timeout},
//                 [](Result<std::string> response) { ... });
//
// Messages of 2 GiB and more go in parts between a channel and a server of this kind; others' get
// an error that says so.
// Ownership: a server stops when it is destroyed; a call's cancellation outlives the call.
// Threads: all members from any thread. Handlers and callbacks come on gRPC's threads and must not
// wait.
// Errors: FailedPrecondition where the component is missing; a channel's call ends with Unavailable
// when nobody listens, DeadlineExceeded, Cancelled, or what the server answered.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/grpc/tls.h"

namespace thalweg {

// FailedPrecondition in a process that was forked from one that had made a server or a channel.
Status CheckNotForked();

// What a message that is written or read for a call may have, beside the limits of a server or a
// channel.
inline constexpr size_t kMaxCallBytes = SIZE_MAX;

// A call that a server has to answer, once; one that is dropped unanswered is answered Internal.
class IncomingCall {
 public:
  virtual ~IncomingCall() = default;
  virtual std::string_view method() const = 0;  // "/package.Service/Method"
  virtual const std::string& request() const = 0;
  virtual std::chrono::nanoseconds timeout() const = 0;  // left at arrival; 0: none
  // The numeric address of the host that it came from; empty where it is not known. Before Answer.
  virtual std::string peer_host() const = 0;
  // Cancelled when the caller has gone or its deadline has passed.
  virtual CancellationManager& cancellation() = 0;
  virtual void Answer(Result<std::string> response) = 0;
};

struct RpcServerOptions {
  std::string address = "127.0.0.1:0";  // HOST:PORT, port 0: a free one
  int64_t max_message_bytes = 0;        // of a request; 0: half of the memory
  int64_t whole_bytes = 0;              // of an answer that goes undivided; 0: what gRPC can
  int64_t max_open_calls = 100'000;
  TlsTexts tls;  // empty: plain text
};

class RpcServer {
 public:
  using Handler = std::function<void(std::shared_ptr<IncomingCall>)>;
  static Result<std::unique_ptr<RpcServer>> Start(const RpcServerOptions& options, Handler handler);
  // Stops.
  virtual ~RpcServer() = default;
  virtual int port() const = 0;
  // Refuses new calls, cancels those open after `grace`, and returns when all are answered.
  virtual void Stop(std::chrono::nanoseconds grace) = 0;
};

struct RpcCallOptions {
  std::chrono::nanoseconds timeout{0};          // 0: none
  bool wait_for_ready = false;                  // wait for a server that does not listen yet
  CancellationManager* cancellation = nullptr;  // outlives the call
};

struct RpcChannelOptions {
  int64_t max_message_bytes = 0;  // of an answer; 0: half of the memory
  int64_t whole_bytes = 0;        // of a request that goes undivided; 0: what gRPC can
  TlsTexts tls;                   // empty: plain text
};

class RpcChannel {
 public:
  using Done = std::function<void(Result<std::string>)>;
  // Connects at the first call. `address`: HOST:PORT.
  static Result<std::unique_ptr<RpcChannel>> Connect(const std::string& address,
                                                     const RpcChannelOptions& options = {});
  virtual ~RpcChannel() = default;
  // `done` comes once, on another thread or, where the call was cancelled before, on this one.
  virtual void Call(const std::string& method, std::string request, const RpcCallOptions& options,
                    Done done) = 0;
  // Waits.
  Result<std::string> Call(const std::string& method, std::string request,
                           const RpcCallOptions& options);
};

}  // namespace thalweg
