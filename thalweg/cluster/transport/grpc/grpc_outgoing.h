// SPDX-License-Identifier: Apache-2.0
// Outgoing: a call that a client makes, for the component alone. It begins as a unary one, unless
// its request is too long for that; for an answer that is, it makes a second call (Incoming).
//
//   const auto call = std::make_shared<Outgoing>(channel, method, nanoseconds, false, done, arg);
//   call->Begin(request);
//
// Ownership: the handle holds it and, until its answer, gRPC does.
// Threads: Cancel from any; `done` comes once, on one of gRPC's.
// Errors: gRPC's codes; ResourceExhausted for an answer that is too long, Internal for a malformed
// one.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "thalweg/cluster/transport/grpc/grpc_api.h"
#include "thalweg/cluster/transport/grpc/grpc_messages.h"

namespace thalweg::grpc_component {

// gRPC's own name for what a client calls through; calls of any method, as bytes.
using AnyMethod = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

struct Channel {
  AnyMethod methods;
  uint64_t most_bytes;  // of an answer
  uint64_t most_whole;  // of a request that goes undivided
};
using ChannelHandle = std::shared_ptr<Channel>;

// A call of several messages. `done` comes once; this must live until it returns.
class PartsCall : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  using Done = std::function<void(const grpc::Status&, const Pieces&)>;
  PartsCall(const ThalwegGrpcBytes& request, uint64_t most_bytes, Done done)
      : size_(SizeOf(request)),
        request_(request, /*in_parts=*/true),
        most_bytes_(most_bytes),
        done_(std::move(done)) {
    if (size_ > 0) context_.AddMetadata(kBytesOfAll, std::to_string(size_));
  }
  grpc::ClientContext& context() { return context_; }
  void Begin(AnyMethod& methods, const std::string& method) {
    methods.PrepareBidiStreamingCall(&context_, method, {}, this);
    WriteNext();
    StartRead(&response_);
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (ok && !request_.empty()) WriteNext();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;  // the end
    const bool unpacked = pieces_.Add(response_);
    response_.Clear();
    const uint64_t expected = BytesOfAll(context_.GetServerInitialMetadata());
    if (!unpacked || pieces_.bytes() > (expected > 0 ? expected : kMostWhole)) {
      Fail(grpc::StatusCode::INTERNAL, "the answer cannot be unpacked");
    } else if (expected > most_bytes_) {
      Fail(grpc::StatusCode::RESOURCE_EXHAUSTED, "the answer has " + std::to_string(expected) +
                                                     " bytes; taken are at most " +
                                                     std::to_string(most_bytes_));
    } else {
      StartRead(&response_);
    }
  }
  void OnDone(const grpc::Status& ended) override {
    grpc::Status status = failure_.ok() ? ended : failure_;
    const Heads& heads = context_.GetServerInitialMetadata();
    if (status.ok() && (pieces_.messages() == 0 || pieces_.bytes() < BytesOfAll(heads))) {
      status = grpc::Status(grpc::StatusCode::INTERNAL, "the call ended within its answer");
    }
    if (!status.ok() && size_ > 0 && !heads.contains(kTakesParts)) {
      status = grpc::Status(
          status.error_code(),
          status.error_message() + " (the request has " + std::to_string(size_) +
              " bytes and went in parts, which Thalweg's servers take; a message of gRPC holds at "
              "most " +
              std::to_string(kMostWhole) + ")");
    }
    const Done done = std::move(done_);  // may end this
    done(status, pieces_);
  }

 private:
  void WriteNext() {
    bool last = false;
    const grpc::ByteBuffer* const message = request_.Next(&last);
    if (last) {
      StartWriteLast(message, grpc::WriteOptions());
    } else {
      StartWrite(message);
    }
  }
  void Fail(grpc::StatusCode code, const std::string& why) {
    failure_ = grpc::Status(code, why);
    context_.TryCancel();
  }

  const uint64_t size_;
  Messages request_;
  const uint64_t most_bytes_;
  Done done_;
  grpc::ClientContext context_;
  grpc::ByteBuffer response_;
  Pieces pieces_;
  grpc::Status failure_;
};

using OutgoingDone = void (*)(void* arg, int code, const char* message, size_t message_size,
                              const ThalwegGrpcPiece* pieces, size_t count);

// Held by the handle and, until its answer, by gRPC.
class Outgoing : public std::enable_shared_from_this<Outgoing> {
 public:
  Outgoing(ChannelHandle channel, const char* method, int64_t timeout_nanos, bool wait_for_ready,
           OutgoingDone done, void* arg)
      : channel_(std::move(channel)),
        method_(method),
        wait_for_ready_(wait_for_ready),
        done_(done),
        arg_(arg) {
    if (timeout_nanos < 0) return;
    deadline_ = std::chrono::system_clock::now() +
                std::chrono::duration_cast<std::chrono::system_clock::duration>(
                    std::chrono::nanoseconds(timeout_nanos));
  }

  void Begin(const ThalwegGrpcBytes& request) {
    if (SizeOf(request) > channel_->most_whole) return GoInParts(request, "");
    request_ = Messages(request, /*in_parts=*/false);
    Prepare(context_);
    context_.AddMetadata(kTakesParts, "1");
    bool last = false;
    channel_->methods.UnaryCall(
        &context_, method_, {}, request_.Next(&last), &response_,
        [self = shared_from_this()](const grpc::Status& status) { self->EndWhole(status); });
  }
  void Cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    context_.TryCancel();
    if (parts_ != nullptr) parts_->context().TryCancel();
  }

 private:
  void Prepare(grpc::ClientContext& context) const {
    context.set_wait_for_ready(wait_for_ready_);
    if (deadline_.has_value()) context.set_deadline(*deadline_);
  }
  void EndWhole(grpc::Status status) {
    if (!status.ok()) {
      const Heads& heads = context_.GetServerTrailingMetadata();
      if (const auto token = heads.find(kToken); token != heads.end()) {
        return GoInParts({}, {token->second.data(), token->second.size()});
      }
    }
    Pieces pieces;
    if (status.ok() && !pieces.Add(response_)) {
      status = grpc::Status(grpc::StatusCode::INTERNAL, "the answer cannot be unpacked");
    }
    End(status, pieces);
  }
  void GoInParts(const ThalwegGrpcBytes& request, const std::string& token) {
    auto parts = std::make_unique<PartsCall>(
        request, channel_->most_bytes,
        [self = shared_from_this()](const grpc::Status& status, const Pieces& pieces) {
          self->End(status, pieces);
        });
    Prepare(parts->context());
    if (!token.empty()) parts->context().AddMetadata(kToken, token);
    PartsCall& call = *parts;
    {
      const std::lock_guard lock(mutex_);
      if (cancelled_) call.context().TryCancel();
      parts_ = std::move(parts);
    }
    call.Begin(channel_->methods, method_);
  }
  void End(const grpc::Status& status, const Pieces& pieces) {
    const std::string message = status.error_message();
    done_(arg_, status.error_code(), message.data(), message.size(), pieces.data(), pieces.size());
  }

  const ChannelHandle channel_;
  const std::string method_;
  const bool wait_for_ready_;
  const OutgoingDone done_;
  void* const arg_;
  std::optional<std::chrono::system_clock::time_point> deadline_;
  grpc::ClientContext context_;
  Messages request_;
  grpc::ByteBuffer response_;
  std::mutex mutex_;
  bool cancelled_ = false;
  std::unique_ptr<PartsCall> parts_;
};

}  // namespace thalweg::grpc_component
