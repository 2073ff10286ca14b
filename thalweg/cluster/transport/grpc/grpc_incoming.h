// SPDX-License-Identifier: Apache-2.0
// Service: a gRPC server's calls, of every method of every service, for one handler; for the
// component alone.
//
//   Service service(options);
//   builder.RegisterCallbackGenericService(&service);
//
// An answer that no message holds is given at once where the request came in parts. A unary call,
// as which calls begin since it costs least, gets an error and a token, with which the caller makes
// a second call.
// Ownership: the service outlives its server; a call owns itself until its end.
// Threads: the handler hears a call on gRPC's threads; Answer from any, once.
// Errors: ResourceExhausted for too many calls and too long ones, Internal for a malformed one,
// Unavailable for an answer that is not kept any longer.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "thalweg/cluster/transport/grpc/grpc_api.h"
#include "thalweg/cluster/transport/grpc/grpc_messages.h"

namespace thalweg::grpc_component {

// Answers that wait for their callers' second calls. Threads: every member from any.
class KeptAnswers {
 public:
  struct Answer {
    Messages messages;
    uint64_t bytes = 0;
    std::chrono::steady_clock::time_point until;
  };
  // The token; empty, and nothing is kept, where too many are, or the system has no random bits.
  std::string Keep(Messages messages, uint64_t bytes) {
    std::array<uint64_t, 2> random;
    if (getrandom(random.data(), sizeof random, 0) != sizeof random) return "";
    std::string token = std::to_string(random[0]) + "-" + std::to_string(random[1]);
    const std::lock_guard lock(mutex_);
    if (answers_.size() >= kMostKept) return "";
    answers_[token] = {std::move(messages), bytes, std::chrono::steady_clock::now() + kKeptFor};
    size_.store(answers_.size());
    return token;
  }
  std::optional<Answer> Take(const std::string& token) {
    const std::lock_guard lock(mutex_);
    auto found = answers_.extract(token);
    size_.store(answers_.size());
    if (found.empty()) return std::nullopt;
    return std::move(found.mapped());
  }
  // Drops those that nobody has come for.
  void DropOld() {
    if (size_.load(std::memory_order_relaxed) == 0) return;
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    std::erase_if(answers_, [&](const auto& answer) { return answer.second.until < now; });
    size_.store(answers_.size());
  }

 private:
  static constexpr std::chrono::seconds kKeptFor{60};
  static constexpr size_t kMostKept = 16;
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::atomic<size_t> size_{0};
};

// What the calls of a server share.
struct Common {
  ThalwegGrpcHandler handler;
  uint64_t most_bytes;  // of a request
  uint64_t most_whole;  // of an answer that goes undivided
  KeptAnswers kept;
};

class Incoming : public grpc::ServerGenericBidiReactor {
 public:
  Incoming(Common& common, grpc::GenericCallbackServerContext* context)
      : common_(common),
        context_(context),
        method_(context->method()),
        deadline_(context->deadline()),
        expected_(BytesOfAll(context->client_metadata())) {
    const Heads& heads = context_->client_metadata();
    if (const auto token = heads.find(kToken); token != heads.end()) {
      GiveKept({token->second.data(), token->second.size()});
      return;
    }
    if (expected_ > 0) context_->AddInitialMetadata(kTakesParts, "1");
    state_ = common_.handler.begin(common_.handler.self, AsHandle());
    if (state_ == nullptr) {
      End(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls are open");
    } else if (expected_ > common_.most_bytes) {
      End(grpc::StatusCode::RESOURCE_EXHAUSTED, "the request has " + std::to_string(expected_) +
                                                    " bytes; this server takes at most " +
                                                    std::to_string(common_.most_bytes));
    } else {
      StartRead(&request_);
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      return End(grpc::StatusCode::INTERNAL, pieces_.messages() == 0
                                                 ? "the call has no request"
                                                 : "the call ends within its request");
    }
    const bool unpacked = pieces_.Add(request_);
    request_.Clear();
    if (!unpacked || (expected_ > 0 && pieces_.bytes() > expected_)) {
      return End(grpc::StatusCode::INTERNAL, "the request cannot be unpacked");
    }
    if (pieces_.bytes() < expected_) return StartRead(&request_);
    int64_t left = -1;
    if (deadline_ != std::chrono::system_clock::time_point::max()) {
      left = std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::nanoseconds>(
                                      deadline_ - std::chrono::system_clock::now())
                                      .count());
    }
    common_.handler.request(state_, method_.data(), method_.size(), pieces_.data(), pieces_.size(),
                            left);
  }
  void OnWriteDone(bool ok) override {
    if (response_.empty()) return;  // that was the last, which ends the call
    if (ok) return WriteNext();
    End(grpc::StatusCode::CANCELLED, "the caller has gone");
  }
  void OnCancel() override {
    if (state_ != nullptr) common_.handler.cancelled(state_);
  }
  void OnDone() override {
    if (state_ != nullptr) common_.handler.end(state_);
    delete this;
  }

  std::string Peer() const { return context_->peer(); }
  void Answer(int code, const std::string& message, const ThalwegGrpcBytes* bytes) {
    if (code != 0) return End(static_cast<grpc::StatusCode>(code), message);
    const uint64_t size = SizeOf(*bytes);
    if (size <= common_.most_whole) {
      response_ = Messages(*bytes, /*in_parts=*/false);
      return WriteNext();
    }
    Messages parts(*bytes, /*in_parts=*/true);
    if (expected_ > 0) return GiveParts(std::move(parts), size);
    if (context_->client_metadata().contains(kTakesParts)) {
      const std::string token = common_.kept.Keep(std::move(parts), size);
      if (!token.empty()) context_->AddTrailingMetadata(kToken, token);
    }
    End(grpc::StatusCode::RESOURCE_EXHAUSTED, "the answer has " + std::to_string(size) +
                                                  " bytes; a message of gRPC holds at most " +
                                                  std::to_string(common_.most_whole));
  }

 private:
  void End(grpc::StatusCode code, const std::string& why) { Finish(grpc::Status(code, why)); }
  void GiveKept(const std::string& token) {
    std::optional<KeptAnswers::Answer> kept = common_.kept.Take(token);
    if (kept.has_value()) return GiveParts(std::move(kept->messages), kept->bytes);
    End(grpc::StatusCode::UNAVAILABLE, "the answer is not kept any longer");
  }
  void GiveParts(Messages parts, uint64_t bytes) {
    response_ = std::move(parts);
    context_->AddInitialMetadata(kBytesOfAll, std::to_string(bytes));
    WriteNext();
  }
  void WriteNext() {
    bool last = false;
    const grpc::ByteBuffer* const message = response_.Next(&last);
    if (last) {
      StartWriteAndFinish(message, grpc::WriteOptions(), grpc::Status::OK);
    } else {
      StartWrite(message);
    }
  }
  ThalwegGrpcIncoming* AsHandle() { return reinterpret_cast<ThalwegGrpcIncoming*>(this); }

  Common& common_;
  grpc::GenericCallbackServerContext* const context_;  // until OnDone
  const std::string method_;
  const std::chrono::system_clock::time_point deadline_;
  const uint64_t expected_;  // bytes of a request in parts
  void* state_ = nullptr;
  grpc::ByteBuffer request_;
  Pieces pieces_;
  Messages response_;
};

class Service : public grpc::CallbackGenericService {
 public:
  explicit Service(const ThalwegGrpcServerOptions& options)
      : common_{options.handler,
                LimitOr(options.max_message_bytes, HalfOfMemory()),
                LimitOr(options.whole_bytes, kMostWhole),
                {}} {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    common_.kept.DropOld();
    return new Incoming(common_, context);
  }

 private:
  Common common_;
};

}  // namespace thalweg::grpc_component
